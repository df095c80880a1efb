#include "router/policies/policy_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "router/policies/policy_document.h"
#include "router/policies/registry.h"
#include "router/policies/variants/penstock_variants.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

std::string ErrorOf(const std::string& text) {
  std::string error;
  EXPECT_EQ(MakePolicy(text, 1, &error), nullptr) << text;
  return error;
}

TEST(PolicyFactory, EveryListedNameMakesAPolicyAndOthersDoNot) {
  for (const std::string& name : KnownPolicyNames()) EXPECT_NE(MakePolicy(name, 1), nullptr) << name;
  EXPECT_EQ(KnownPolicyNames().front(), "penstock");
  EXPECT_THAT(ErrorOf("nonsense"), HasSubstr("unknown name \"nonsense\", known: penstock present_use"));
  EXPECT_EQ(MakePolicy("", 1), nullptr);
}

TEST(PolicyFactory, NamesAndKeysAreUnique) {
  std::set<std::string> names;
  for (const PolicyDeclaration& policy : AllPolicies()) {
    EXPECT_TRUE(names.insert(policy.name).second) << policy.name;
    std::set<std::string> keys;
    for (const PolicySetting& setting : policy.settings) EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
  }
}

TEST(PolicyFactory, EveryDocumentedAlternativeMakesAPolicy) {
  for (const PolicyDeclaration& policy : AllPolicies()) {
    const std::vector<std::string> alternatives = PolicyAlternatives(policy.name);
    EXPECT_LE(alternatives.size(), 4u) << policy.name;
    for (const std::string& text : alternatives) EXPECT_NE(MakePolicy(text, 1), nullptr) << text;
    EXPECT_GE(alternatives.size(), policy.settings.empty() || policy.name == "penstock" ? 0u : 2u) << policy.name;
  }
  EXPECT_TRUE(PolicyAlternatives("nonsense").empty());
}

TEST(PolicyFactory, DefaultsAreWithinTheirBoundsAndCanBeWritten) {
  for (const PolicyDeclaration& policy : AllPolicies()) {
    for (const PolicySetting& setting : policy.settings) {
      EXPECT_GE(setting.default_value, setting.least) << policy.name << " " << setting.key;
      EXPECT_LE(setting.default_value, setting.most) << policy.name << " " << setting.key;
      if (setting.several) continue;
      const auto choice = ParsePolicy(policy.name + ":" + setting.key + "=" + DefaultText(setting));
      ASSERT_TRUE(choice.ok()) << choice.status();
      EXPECT_DOUBLE_EQ((*choice)[setting.key], setting.default_value);
    }
  }
}

TEST(PolicyFactory, SettingsAreReadStrictly) {
  EXPECT_THAT(ErrorOf("least_load:vet=0.9"),
              HasSubstr("least_load: unknown setting \"vet\", known: kv_weight throughput mean_prefill veto"));
  EXPECT_THAT(ErrorOf("least_load:veto=1.5"), HasSubstr("veto must be a number from 0.01 to 1, not \"1.5\""));
  EXPECT_THAT(ErrorOf("least_load:veto=nan"), HasSubstr("veto must be a number"));
  EXPECT_THAT(ErrorOf("least_load:veto="), HasSubstr("not \"\""));
  EXPECT_THAT(ErrorOf("least_load:veto"), HasSubstr("\"veto\" is not of the form key=value"));
  EXPECT_THAT(ErrorOf("least_load:"), HasSubstr("is not of the form key=value"));
  EXPECT_THAT(ErrorOf("least_load:veto=0.9,"), HasSubstr("is not of the form key=value"));
  EXPECT_THAT(ErrorOf("least_load:veto=0.9,veto=0.8"), HasSubstr("veto is given twice"));
  EXPECT_THAT(ErrorOf("chwbl:replication=2.5"), HasSubstr("a whole number from 1 to 4096"));
  EXPECT_THAT(ErrorOf("mc_sf:length=mode"), HasSubstr("length must be one of mean median, not \"mode\""));
  EXPECT_THAT(ErrorOf("round_robin:a=1"), HasSubstr("round_robin: unknown setting \"a\", it has none"));
  EXPECT_THAT(ErrorOf("penstock:without=forecast+forecast"), HasSubstr("without must be some of forecast memory"));
  EXPECT_THAT(ErrorOf("penstock:without="), HasSubstr("joined by +, not \"\""));
  EXPECT_THAT(ErrorOf("penstock:true=lengths"), HasSubstr("unknown setting \"true\""));
  EXPECT_THAT(ErrorOf("nonsense:a=1"), HasSubstr("unknown name \"nonsense\""));
}

TEST(PolicyFactory, EveryPartOfPenstockCanBeLeftOut) {
  const PolicySetting& without = AllPolicies().front().settings.front();
  ASSERT_EQ(without.key, "without");
  EXPECT_THAT(PenstockParts(), UnorderedElementsAreArray(without.words));
  for (const std::string& part : without.words) {
    EXPECT_NE(MakePolicy("penstock:without=" + part, 1), nullptr) << part;
    if (part == "gpu") continue;
    EXPECT_NE(MakePolicy("penstock:without=gpu+" + part, 1), nullptr) << part;
  }
}

TEST(PolicyFactory, GivenSettingsCountAndTheOthersKeepTheirDefaults) {
  const auto choice = ParsePolicy("llmd_utilization:kv=0.9,queue=10");
  ASSERT_TRUE(choice.ok());
  EXPECT_DOUBLE_EQ((*choice)["kv"], 0.9);
  EXPECT_DOUBLE_EQ((*choice)["queue"], 10);
  EXPECT_DOUBLE_EQ((*choice)["headroom"], 0);
  EXPECT_DOUBLE_EQ((*ParsePolicy("mc_sf:length=median"))["length"], 1);
}

}  // namespace
}  // namespace penstock
