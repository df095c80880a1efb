#include "router/policies/variants/penstock_policies.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "router/policies/variants/penstock_variants.h"

namespace penstock {
namespace {

// The declarations admit no variant with knowledge of the future.
std::unique_ptr<AdmissionCore> MakeVariant(const std::string& name) {
  const absl::StatusOr<std::optional<PenstockVariant>> variant = ParsePenstockVariant(name);
  return variant.ok() && *variant ? MakePenstock(**variant) : nullptr;
}

}  // namespace

PolicyDeclaration PenstockPolicy() {
  PolicyDeclaration policy;
  policy.name = "penstock";
  policy.origin = PolicyOrigin::kOwn;
  policy.settings = {WordsSetting(
      "without", {"forecast", "memory",  "variance", "tenants",      "levels",    "steps",        "learning",
                  "gpu",      "refusal", "early",    "density",      "prefixes",  "reservations", "best-effort",
                  "sharing",  "parking", "eviction", "newcomers",    "attention", "company",      "hashes",
                  "hints",    "price",   "storage",  "declarations", "grey",      "speculation"},
      "parts left out, which shows their worth; without `forecast` the policy tests "
      "present use; without `grey` no replica is derated for its pace")};
  policy.text = {
      "this project", "ARCHITECTURE.md",
      "the engines' reports; its own requests and their progress; times, lengths and prefixes that it learns",
      "late; queue time", ""};
  policy.make = [](const PolicyChoice& choice, uint64_t) {
    const std::vector<std::string> parts = choice.Words("without");
    return MakeVariant(parts.empty() ? "penstock" : absl::StrCat("penstock:without=", absl::StrJoin(parts, "+")));
  };
  return policy;
}

PolicyDeclaration PresentUsePolicy() {
  PolicyDeclaration policy;
  policy.name = "present_use";
  policy.origin = PolicyOrigin::kStudied;
  policy.settings = {NumberSetting("fill", 0.95, 0.01, 1, "share of the pool that present use may reach")};
  policy.alternatives = {"fill=0.9", "fill=0.98"};
  policy.text = {"this project",
                 "own books of the memory held at present, prompts on their way included, within a share of the pool; "
                 "Penstock's guards",
                 "as `penstock`", "late; queue time", ""};
  policy.make = [](const PolicyChoice& choice, uint64_t) -> std::unique_ptr<AdmissionCore> {
    PenstockVariant variant;
    variant.memory = MemoryKind::kPresentUse;
    variant.fill = choice["fill"];
    variant.parking = false;
    variant.eviction = false;
    return MakePenstock(variant);
  };
  return policy;
}

}  // namespace penstock
