#include "router/policies/policy_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "router/policies/registry.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(PolicyDocument, TheFileIsUpToDate) {
  std::ifstream file(SourcePath("docs/policies.md"));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), PolicyDocument()) << "run: build/release/penstock policies --markdown > docs/policies.md";
}

TEST(PolicyDocument, HasARowAndASectionPerPolicyWithEverySetting) {
  const std::string text = PolicyDocument();
  for (const PolicyDeclaration& policy : AllPolicies()) {
    EXPECT_THAT(text, HasSubstr("| [`" + policy.name + "`](#" + policy.name + ") |"));
    const size_t begin = text.find("\n## `" + policy.name + "`\n");
    ASSERT_NE(begin, std::string::npos) << policy.name;
    const std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
    for (const PolicySetting& setting : policy.settings) {
      EXPECT_THAT(section, HasSubstr("| `" + setting.key + "` | "));
      EXPECT_THAT(section, HasSubstr(" | " + setting.meaning + " |"));
    }
    for (const std::string& alternative : policy.alternatives) EXPECT_THAT(section, HasSubstr("`" + alternative + "`"));
  }
}

TEST(PolicyDocument, EveryDeclarationIsComplete) {
  for (const PolicyDeclaration& policy : AllPolicies()) {
    EXPECT_FALSE(policy.text.source.empty()) << policy.name;
    EXPECT_FALSE(policy.text.rule.empty()) << policy.name;
    EXPECT_FALSE(policy.text.sees.empty()) << policy.name;
    EXPECT_FALSE(policy.text.refuses.empty()) << policy.name;
    EXPECT_NE(policy.make, nullptr) << policy.name;
    for (const PolicySetting& setting : policy.settings) EXPECT_FALSE(setting.meaning.empty()) << setting.key;
  }
}

TEST(PolicyDocument, LargeDefaultsAreWrittenInFull) {
  EXPECT_EQ(DefaultText(NumberSetting("tokens", 16'777'216, 0, 1e12, "")), "16777216");
  EXPECT_EQ(DefaultText(NumberSetting("share", 0.84, 0, 1, "")), "0.84");
  EXPECT_EQ(DefaultText(WordSetting("load", {"tokens", "requests"}, "")), "tokens");
  EXPECT_EQ(DefaultText(WordsSetting("without", {"a", "b"}, "")), "none");
}

}  // namespace
}  // namespace penstock
