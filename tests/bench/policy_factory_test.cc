#include "router/policies/policy_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/policy_catalogue.h"
#include "router/policies/penstock_variants.h"

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

TEST(PolicyFactory, EveryDocumentedSettingMakesAPolicy) {
  for (const std::string& name : KnownPolicyNames()) {
    const std::vector<std::string> settings = PolicySettings(name);
    EXPECT_LE(settings.size(), 4u) << name;
    for (const std::string& setting : settings) EXPECT_NE(MakePolicy(setting, 1), nullptr) << setting;
    for (const PolicyEntry& entry : PolicyCatalogue()) {
      if (entry.name != name || entry.settings.empty() || name == "penstock") continue;
      EXPECT_GE(settings.size(), 2u) << name;
    }
  }
  EXPECT_TRUE(PolicySettings("nonsense").empty());
}

TEST(PolicyFactory, DefaultsAreWithinTheirBoundsAndCanBeWritten) {
  for (const PolicyEntry& entry : PolicyCatalogue()) {
    for (const PolicySetting& setting : entry.settings) {
      EXPECT_GE(setting.standard, setting.least) << entry.name << " " << setting.key;
      EXPECT_LE(setting.standard, setting.most) << entry.name << " " << setting.key;
      EXPECT_FALSE(setting.meaning.empty()) << entry.name << " " << setting.key;
      if (setting.several) continue;
      std::ostringstream text;
      text.precision(12);
      text << entry.name << ":" << setting.key << "=";
      setting.words.empty() ? text << setting.standard : text << setting.words.front();
      const auto choice = ParsePolicy(text.str());
      ASSERT_TRUE(choice.ok()) << choice.status();
      EXPECT_DOUBLE_EQ((*choice)[setting.key], setting.standard);
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
  const PolicySetting& without = PolicyCatalogue().front().settings.front();
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

bool Mentions(const std::string& text, const std::string& word) {
  return text.find("`" + word + "`") != std::string::npos;
}

TEST(PolicyDocument, NamesEveryPolicyWithEverySettingAndDefault) {
  std::ifstream file(PENSTOCK_SOURCE_DIR "/docs/policies.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const PolicyEntry& entry : PolicyCatalogue()) {
    EXPECT_THAT(text.str(), HasSubstr("| `" + entry.name + "` |")) << entry.name;
    for (const PolicySetting& setting : entry.settings) {
      std::ostringstream expected;
      expected.precision(12);
      expected << "`" << setting.key << "=";
      for (const std::string& word : setting.words) EXPECT_TRUE(!setting.several || Mentions(text.str(), word)) << word;
      if (setting.several) continue;
      setting.words.empty() ? expected << setting.standard : expected << setting.words.front();
      EXPECT_THAT(text.str(), HasSubstr(expected.str() + "`")) << entry.name;
    }
    for (const std::string& alternative : entry.alternatives) {
      EXPECT_THAT(text.str(), HasSubstr("`" + alternative + "`")) << entry.name;
    }
  }
}

}  // namespace
}  // namespace penstock
