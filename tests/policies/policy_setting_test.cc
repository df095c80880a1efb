#include "router/policies/kit/policy_setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PolicySetting, ANumberIsReadWithinItsBounds) {
  const PolicySetting setting = NumberSetting("share", 0.5, 0.25, 1, "");
  EXPECT_EQ(ReadSettingValue(setting, "0.25"), 0.25);
  EXPECT_EQ(ReadSettingValue(setting, "1"), 1);
  for (const char* bad : {"0.24", "1.01", "nan", "inf", "", "x", "0.5x"}) {
    EXPECT_EQ(ReadSettingValue(setting, bad), std::nullopt) << bad;
  }
  EXPECT_EQ(BoundsText(setting), "a number from 0.25 to 1");
}

TEST(PolicySetting, AWholeNumberHasNoFraction) {
  const PolicySetting setting = WholeSetting("count", 3, 1, 10, "");
  EXPECT_EQ(ReadSettingValue(setting, "10"), 10);
  EXPECT_EQ(ReadSettingValue(setting, "2.5"), std::nullopt);
  EXPECT_EQ(BoundsText(setting), "a whole number from 1 to 10");
}

TEST(PolicySetting, AWordIsReadAsItsPosition) {
  const PolicySetting setting = WordSetting("length", {"mean", "median"}, "");
  EXPECT_EQ(ReadSettingValue(setting, "mean"), 0);
  EXPECT_EQ(ReadSettingValue(setting, "median"), 1);
  EXPECT_EQ(ReadSettingValue(setting, "mean+median"), std::nullopt);
  EXPECT_EQ(BoundsText(setting), "one of mean median");
}

TEST(PolicySetting, SeveralWordsAreReadAsBitsAndWrittenBack) {
  const PolicySetting setting = WordsSetting("without", {"a", "b", "c"}, "");
  EXPECT_EQ(ReadSettingValue(setting, "c+a"), 5);
  EXPECT_THAT(WordsOf(setting, 5), ElementsAre("a", "c"));
  EXPECT_THAT(WordsOf(setting, setting.default_value), IsEmpty());
  EXPECT_EQ(ReadSettingValue(setting, "a+a"), std::nullopt);
  EXPECT_EQ(ReadSettingValue(setting, ""), std::nullopt);
  EXPECT_EQ(BoundsText(setting), "some of a b c, joined by +");
}

}  // namespace
}  // namespace penstock
