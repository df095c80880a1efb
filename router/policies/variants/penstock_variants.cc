#include "router/policies/variants/penstock_variants.h"

#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

using Parts = std::map<std::string, std::function<void(PenstockVariant&)>>;

const Parts& WithoutParts() {
  static const Parts parts = {
      {"forecast", [](PenstockVariant& v) { v.options.memory = MemoryRule::kPresentUse; }},
      {"memory", [](PenstockVariant& v) { v.options.memory = MemoryRule::kUnlimited; }},
      {"variance", [](PenstockVariant& v) { v.options.variance = false; }},
      {"tenants", [](PenstockVariant& v) { v.options.tenant_curves = false; }},
      {"steps", [](PenstockVariant& v) { v.options.time_guards = false; }},
      {"learning", [](PenstockVariant& v) { v.options.learned_steps = false; }},
      {"gpu", [](PenstockVariant& v) { v.options.gpu_wide = false; }},
      {"refusal", [](PenstockVariant& v) { v.options.refuse_late = false; }},
      {"density", [](PenstockVariant& v) { v.options.order = QueueOrder::kDeadline; }},
      {"prefixes", [](PenstockVariant& v) { v.options.prefix_caches = false; }},
  };
  return parts;
}

const Parts& Truths() {
  static const Parts truths = {
      {"lengths", [](PenstockVariant& v) { v.true_lengths = true; }},
      {"prompts", [](PenstockVariant& v) { v.true_prompts = true; }},
      {"steps", [](PenstockVariant& v) { v.true_steps = true; }},
  };
  return truths;
}

// What the yardstick tests memory with. Exact growth never preempts; where streams are far ahead of their due times,
// rules that take a risk deliver more.
const Parts& Memories() {
  static const Parts memories = {
      {"exact", [](PenstockVariant& v) { v.options.true_growth = true; }},
      {"forecast", [](PenstockVariant& v) { v.options.true_growth = false; }},
      {"present", [](PenstockVariant& v) { v.options.memory = MemoryRule::kPresentUse; }},
  };
  return memories;
}

const Parts& Orders() {
  static const Parts orders = {
      {"deadline", [](PenstockVariant& v) { v.options.order = QueueOrder::kDeadline; }},
      {"density", [](PenstockVariant& v) { v.options.order = QueueOrder::kDensity; }},
      {"fair", [](PenstockVariant& v) { v.options.order = QueueOrder::kFairDensity; }},
      {"shortest", [](PenstockVariant& v) { v.options.order = QueueOrder::kShortestWork; }},
  };
  return orders;
}

absl::Status ApplyParts(absl::string_view text, const Parts& known, PenstockVariant& variant) {
  for (absl::string_view part : absl::StrSplit(text, '+')) {
    const auto found = known.find(std::string(part));
    if (found == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", part, "\" is none of ",
          absl::StrJoin(known, ", ", [](std::string* out, const auto& entry) { absl::StrAppend(out, entry.first); })));
    }
    found->second(variant);
  }
  return absl::OkStatus();
}

absl::Status ApplySetting(absl::string_view family, absl::string_view key, absl::string_view value,
                          PenstockVariant& variant) {
  if (family == "penstock" && key == "without") return ApplyParts(value, WithoutParts(), variant);
  if (family == "penstock" && key == "true") return ApplyParts(value, Truths(), variant);
  if (family == "clairvoyant" && key == "order") return ApplyParts(value, Orders(), variant);
  if (family == "clairvoyant" && key == "memory") return ApplyParts(value, Memories(), variant);
  if (family == "present_use" && key == "fill") {
    double& fill = variant.options.fill_limit;
    if (absl::SimpleAtod(value, &fill) && fill > 0 && fill <= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("fill: \"", value, "\" is not above 0 and at most 1"));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown setting \"", key, "\" of ", family));
}

}  // namespace

absl::StatusOr<std::optional<PenstockVariant>> ParsePenstockVariant(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, absl::MaxSplits(':', 1));
  const absl::string_view family = parts[0];
  PenstockVariant variant;
  if (family == "present_use") {
    variant.options.memory = MemoryRule::kPresentUse;
    variant.options.fill_limit = 0.95;
  } else if (family == "clairvoyant") {
    variant.true_lengths = variant.true_prompts = variant.true_steps = true;
  } else if (family != "penstock") {
    return std::nullopt;
  }
  if (parts.size() == 1) return variant;
  for (absl::string_view setting : absl::StrSplit(parts[1], ',')) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(setting, absl::MaxSplits('=', 1));
    const absl::Status status = ApplySetting(family, pair.first, pair.second, variant);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("policy ", name, ": ", status.message()));
  }
  return variant;
}

std::vector<std::string> PenstockParts() {
  std::vector<std::string> names;
  for (const auto& [name, apply] : WithoutParts()) names.push_back(name);
  return names;
}

const std::vector<std::string>& ClairvoyantOrders() {
  static const std::vector<std::string> names = {
      "clairvoyant:order=fair",
      "clairvoyant:order=deadline",
      "clairvoyant:order=density",
      "clairvoyant:order=shortest",
      "clairvoyant:order=deadline,memory=present",
      "clairvoyant:order=density,memory=present",
      "clairvoyant:order=density,memory=forecast",
  };
  return names;
}

}  // namespace penstock
