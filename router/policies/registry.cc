#include "router/policies/registry.h"

namespace penstock {

// One line per policy: the function of the policy's own file that declares it.
#define PENSTOCK_POLICIES(POLICY) \
  POLICY(PenstockPolicy)          \
  POLICY(PresentUsePolicy)        \
  POLICY(RoundRobinPolicy)        \
  POLICY(LeastRequestPolicy)      \
  POLICY(PowerOfTwoPolicy)        \
  POLICY(ChwblPolicy)             \
  POLICY(PrequalPolicy)           \
  POLICY(CacheAwarePolicy)        \
  POLICY(LeastLoadPolicy)         \
  POLICY(DynamoCostPolicy)        \
  POLICY(LlmdUtilizationPolicy)   \
  POLICY(LlmdConcurrencyPolicy)   \
  POLICY(ThresholdGatePolicy)     \
  POLICY(PastFuturePolicy)        \
  POLICY(MaxTokensPolicy)         \
  POLICY(McSfPolicy)

#define PENSTOCK_DECLARE_POLICY(function) PolicyDeclaration function();
#define PENSTOCK_CALL_POLICY(function) function(),

PENSTOCK_POLICIES(PENSTOCK_DECLARE_POLICY)

const std::vector<PolicyDeclaration>& AllPolicies() {
  static const std::vector<PolicyDeclaration> policies = {PENSTOCK_POLICIES(PENSTOCK_CALL_POLICY)};
  return policies;
}

}  // namespace penstock
