#include <gtest/gtest.h>

#include "bench/policies/policy_factory.h"
#include "config/config.h"

namespace penstock {
namespace {

TEST(PolicyNames, EveryPolicyThatCanBeMadeCanBeConfigured) {
  for (const std::string& name : KnownPolicyNames()) {
    EXPECT_TRUE(ParseConfig("policy: " + name + "\nreplicas: [{url: http://h:1}]\n", "f.yaml").ok()) << name;
  }
}

}  // namespace
}  // namespace penstock
