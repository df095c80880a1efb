#include "app/load_config.h"

#include "router/policies/policy_factory.h"

namespace penstock {

PolicyCheck CheckOfKnownPolicies() {
  return {KnownPolicyNames(), [](absl::string_view text) { return ParsePolicy(text).status(); }};
}

absl::StatusOr<Config> LoadCheckedConfig(const std::string& path) {
  LoadOptions options;
  options.policies = CheckOfKnownPolicies();
  return LoadConfigFile(path, options);
}

}  // namespace penstock
