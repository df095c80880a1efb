#include "router/policies/variants/penstock_variants.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "router/core/penstock_core.h"
#include "router/policies/variants/input_filter.h"
#include "router/policies/variants/penstock_rules.h"
#include "router/policies/variants/variant_parts.h"

namespace penstock {
namespace {

// The yardstick was called clairvoyant before.
absl::string_view FamilyOf(absl::string_view name) { return name == "clairvoyant" ? "informed" : name; }

absl::Status ApplyParts(absl::string_view text, const VariantParts& known, PenstockVariant& variant) {
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
  if (family == "informed" && key == "order") return ApplyParts(value, Orders(), variant);
  if (family == "informed" && key == "memory") return ApplyParts(value, Memories(), variant);
  if (family == "informed" && key == "more") return ApplyParts(value, MoreRules(), variant);
  if (family == "present_use" && key == "fill") {
    double& fill = variant.fill;
    if (absl::SimpleAtod(value, &fill) && fill > 0 && fill <= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("fill: \"", value, "\" is not above 0 and at most 1"));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown setting \"", key, "\" of ", family));
}

// One GPU per replica, and an equal part of each elastic pool: the fleet as a router without a GPU-wide ledger sees it.
void StopSharing(Fleet& fleet) {
  std::vector<int64_t> members(fleet.pools.size(), 0);
  for (const ReplicaSpec& replica : fleet.replicas) {
    for (const PoolShare& share : replica.pools) ++members[share.pool.value()];
  }
  uint32_t next_gpu = 0;
  for (ReplicaSpec& replica : fleet.replicas) {
    for (uint32_t& gpu : replica.gpus) gpu = next_gpu++;
    for (PoolShare& share : replica.pools) {
      const int64_t count = members[share.pool.value()];
      if (count < 2) continue;
      PoolSpec part = fleet.pools[share.pool.value()];
      part.capacity = Amount(part.capacity.value() / count);
      share.pool = PoolId(static_cast<uint32_t>(fleet.pools.size()));
      fleet.pools.push_back(part);
    }
  }
}

void StopLearning(Fleet& fleet) {
  for (ReplicaSpec& replica : fleet.replicas) replica.learns_steps = false;
}

// The core plans prefill as if every token of a prompt took the same time.
void ForgetAttention(Fleet& fleet) {
  for (ReplicaSpec& replica : fleet.replicas) replica.prior = replica.prior.Linear();
}

void CopyPrompts(Fleet& fleet) {
  for (ReplicaSpec& replica : fleet.replicas) replica.shares_prompts = false;
}

void ForgetPrices(Fleet& fleet) {
  for (ReplicaSpec& replica : fleet.replicas) replica.price = 0;
}

void StopParking(Fleet& fleet) {
  for (ClassSpec& goals : fleet.classes) goals.parking = false;
}

void ParkAll(Fleet& fleet) {
  for (ClassSpec& goals : fleet.classes) goals.parking = true;
}

// Under time slicing, two copies of a model make as many tokens as one, at twice the latency.
void KeepOneCopy(Fleet& fleet) {
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    ReplicaSpec& replica = fleet.replicas[i];
    for (size_t j = 0; j < i && replica.time_sliced; ++j) {
      const ReplicaSpec& other = fleet.replicas[j];
      if (!other.removed && other.gpus == replica.gpus && other.models == replica.models) replica.removed = true;
    }
  }
}

void StopEviction(Fleet& fleet) {
  for (ClassSpec& goals : fleet.classes) goals.evictable = false;
}

void ForgetPrefix(RequestArrived& arrived) { arrived.prefix.clear(); }

void ForgetSession(RequestArrived& arrived) { arrived.session = 0; }

void ForgetStorage(Fleet& fleet) {
  for (ModelSpec& model : fleet.models) model.storage = false;
}

void NeedNoStorage(RequestArrived& arrived) { arrived.storage = StorageNeed::kNone; }

void DeclareNothing(RequestArrived& arrived) { arrived.storage = StorageNeed::kUnsaid; }

std::unique_ptr<const MemoryRule> MemoryOf(const PenstockVariant& variant) {
  switch (variant.memory) {
    case MemoryKind::kForecast:
      return std::make_unique<VariedForecast>(variant.fill, variant.variance);
    case MemoryKind::kPresentUse:
      return std::make_unique<PresentUse>(variant.fill);
    case MemoryKind::kUnlimited:
      return std::make_unique<UnlimitedMemory>();
  }
  return nullptr;
}

std::unique_ptr<LaneOrder> OrderOf(OrderKind order) {
  switch (order) {
    case OrderKind::kFairDensity:
      return std::make_unique<FairDensityOrder>();
    case OrderKind::kDeadline:
      return std::make_unique<DeadlineOrder>();
    case OrderKind::kDensity:
      return std::make_unique<DensityFirst>();
    case OrderKind::kShortestWork:
      return std::make_unique<ShortestWorkFirst>();
  }
  return nullptr;
}

CoreRules RulesOf(const PenstockVariant& variant) {
  CoreRules rules;
  rules.outputs = std::make_unique<VariedOutputs>(
      VariedOutputs::Options{variant.tenant_curves, variant.output_levels, variant.true_growth, variant.output_of});
  rules.order = OrderOf(variant.order);
  rules.memory = MemoryOf(variant);
  if (!variant.reservations) rules.reservations = 0;
  rules.first_prefill = variant.first_prefill;
  rules.grey = variant.grey;
  rules.speculation = variant.speculation;
  rules.best_effort_apart = variant.best_effort;
  if (!variant.newcomers) rules.guards = GuardsWithoutNewcomers();
  if (!variant.time_guards) rules.guards = {rules.guards.front()};
  rules.early_refusal = variant.early_refusal;
  if (!variant.refuse_late) rules.late = {rules.late.front()};
  return rules;
}

}  // namespace

std::unique_ptr<AdmissionCore> MakePenstock(const PenstockVariant& variant, int64_t events_per_recount) {
  CoreRules rules = RulesOf(variant);
  rules.events_per_recount = events_per_recount;
  auto core = std::make_unique<PenstockCore>(std::move(rules));
  InputFilter::Changes changes;
  if (!variant.gpu_wide) changes.fleet.push_back(StopSharing);
  if (!variant.learned_steps) changes.fleet.push_back(StopLearning);
  if (!variant.attention) changes.fleet.push_back(ForgetAttention);
  if (!variant.shared_prompts) changes.fleet.push_back(CopyPrompts);
  if (!variant.prices) changes.fleet.push_back(ForgetPrices);
  if (!variant.parking) changes.fleet.push_back(StopParking);
  if (variant.park_all) changes.fleet.push_back(ParkAll);
  if (variant.one_copy) changes.fleet.push_back(KeepOneCopy);
  if (!variant.eviction) changes.fleet.push_back(StopEviction);
  if (!variant.prefix_hashes) changes.arrival.push_back(ForgetPrefix);
  if (!variant.hints) changes.arrival.push_back(ForgetSession);
  if (!variant.storage) {
    changes.fleet.push_back(ForgetStorage);
    changes.arrival.push_back(NeedNoStorage);
  }
  if (!variant.declared) changes.arrival.push_back(DeclareNothing);
  if (changes.fleet.empty() && changes.arrival.empty()) return core;
  return std::make_unique<InputFilter>(std::move(core), std::move(changes));
}

absl::StatusOr<std::optional<PenstockVariant>> ParsePenstockVariant(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, absl::MaxSplits(':', 1));
  const absl::string_view family = FamilyOf(parts[0]);
  PenstockVariant variant;
  if (family == "present_use") {
    variant.memory = MemoryKind::kPresentUse;
    variant.fill = 0.95;
    variant.parking = false;
    variant.eviction = false;
    variant.grey = false;
  } else if (family == "informed") {
    variant.true_lengths = variant.true_prompts = variant.true_steps = true;
    variant.early_refusal = false;
    variant.grey = false;
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

bool IsYardstick(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, absl::MaxSplits(':', 1));
  return FamilyOf(parts[0]) == "informed" && (parts.size() == 1 || parts[1] == "more=any");
}

std::vector<std::string> YardstickVariants(absl::string_view name) {
  std::vector<std::string> names = {
      "informed:order=fair",
      "informed:order=deadline",
      "informed:order=density",
      "informed:order=shortest",
      "informed:order=deadline,memory=present",
      "informed:order=density,memory=present",
      "informed:order=density,memory=forecast",
  };
  if (!absl::StrContains(name, ':')) return names;
  for (const char* more : {"parking", "one-copy", "parking+one-copy"}) {
    for (const char* rules : {"order=fair", "order=density,memory=present", "order=deadline,memory=present"}) {
      names.push_back(absl::StrCat("informed:", rules, ",more=", more));
    }
  }
  return names;
}

}  // namespace penstock
