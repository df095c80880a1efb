#include "bench/policies/policy_factory.h"

#include "bench/policies/penstock_variants.h"
#include "bench/policies/round_robin.h"
#include "bench/policies/threshold_gate.h"
#include "router/core/penstock_core.h"

namespace penstock {

std::unique_ptr<AdmissionCore> MakePolicy(absl::string_view name, uint64_t) {
  const absl::StatusOr<std::optional<PenstockVariant>> variant = ParsePenstockVariant(name);
  if (!variant.ok()) return nullptr;
  if (*variant) return (*variant)->honest() ? std::make_unique<PenstockCore>((*variant)->options) : nullptr;
  if (name == "threshold_gate") return std::make_unique<ThresholdGate>();
  if (name == "round_robin") return std::make_unique<RoundRobin>();
  return nullptr;
}

const std::vector<std::string>& KnownPolicyNames() {
  static const std::vector<std::string> names = {"penstock", "present_use", "threshold_gate", "round_robin"};
  return names;
}

}  // namespace penstock
