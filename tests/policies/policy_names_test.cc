// The configuration accepts exactly the policies of the registry, and schema.json lists them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "app/load_config.h"
#include "router/policies/policy_factory.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

using ::testing::UnorderedElementsAreArray;

absl::StatusOr<Config> Configured(const std::string& policy) {
  LoadOptions options;
  options.policies = CheckOfKnownPolicies();
  return ParseConfig("policy: " + policy + "\nreplicas: [{url: http://h:1}]\n", "f.yaml", options);
}

TEST(PolicyNames, EveryPolicyCanBeConfiguredWithEveryAlternative) {
  for (const std::string& name : KnownPolicyNames()) {
    EXPECT_TRUE(Configured(name).ok()) << name;
    for (const std::string& alternative : PolicyAlternatives(name)) {
      const auto config = Configured(alternative);
      ASSERT_TRUE(config.ok()) << alternative;
      EXPECT_EQ(config->policy, alternative);
    }
  }
}

TEST(PolicyNames, AMistakeIsAFindingWithItsPlace) {
  EXPECT_THAT(std::string(Configured("penstok").status().message()),
              testing::StartsWith("f.yaml:1:9: policy: unknown name \"penstok\" (did you mean \"penstock\"?)"));
  EXPECT_EQ(Configured("least_load:veto=2").status().message(),
            "f.yaml:1:9: policy: least_load: veto must be a number from 0.01 to 1, not \"2\"");
  EXPECT_THAT(std::string(Configured("penstok:a=1").status().message()),
              testing::StartsWith("f.yaml:1:9: policy: unknown name \"penstok\", known: penstock present_use"));
}

TEST(PolicyNames, TheSchemaListsTheSameNames) {
  std::ifstream file(SourcePath("config/schema.json"));
  const auto names = nlohmann::json::parse(file).at("properties").at("policy").at("anyOf")[0].at("enum");
  EXPECT_THAT(names.get<std::vector<std::string>>(), UnorderedElementsAreArray(KnownPolicyNames()));
}

}  // namespace
}  // namespace penstock
