#include <iostream>

#include "app/commands.h"
#include "config/reference/reference.h"
#include "router/policies/policy_factory.h"
#include "router/telemetry/metrics_reference.h"

namespace penstock {

int RunReference(ReferenceTopic topic) {
  switch (topic) {
    case ReferenceTopic::kConfiguration:
      std::cout << ConfigReference(KnownPolicyNames());
      break;
    case ReferenceTopic::kSchema:
      std::cout << ConfigSchema(KnownPolicyNames());
      break;
    case ReferenceTopic::kMetrics:
      std::cout << MetricsReference();
      break;
  }
  std::cout << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace penstock
