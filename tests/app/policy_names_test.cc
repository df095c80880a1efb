#include <gtest/gtest.h>

#include "config/config.h"
#include "router/policies/policy_factory.h"

namespace penstock {
namespace {

TEST(PolicyNames, EveryPolicyThatCanBeMadeCanBeConfigured) {
  for (const std::string& name : KnownPolicyNames()) {
    EXPECT_TRUE(ParseConfig("policy: " + name + "\nreplicas: [{url: http://h:1}]\n", "f.yaml").ok()) << name;
    for (const std::string& setting : PolicySettings(name)) {
      const auto config = ParseConfig("policy: " + setting + "\nreplicas: [{url: http://h:1}]\n", "f.yaml");
      ASSERT_TRUE(config.ok()) << setting;
      EXPECT_EQ(config->policy, setting);
    }
  }
}

}  // namespace
}  // namespace penstock
