#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Classes, WithoutASectionNoneIsRefusedForLatenessAndEachQueuesTenMinutes) {
  const Config config = Parsed(WithReplica(""));
  ASSERT_EQ(config.classes.size(), 3u);
  for (const ClassConfig& each : config.classes) {
    EXPECT_FALSE(each.refuse_late) << each.name;
    EXPECT_EQ(each.queue, Duration::Seconds(600)) << each.name;
    EXPECT_EQ(each.is_default, each.name == "standard");
  }
  EXPECT_EQ(config.classes[0].name, "interactive");
  EXPECT_EQ(config.classes[0].ttft, Duration::Seconds(1));
  EXPECT_TRUE(config.classes[2].evictable);
}

TEST(Classes, ANamedOneReplacesTheBuiltInAndTheOthersStay) {
  const Config config = Parsed(WithReplica("classes: {standard: {ttft: 3s, tpot: 80ms, queue: 20s}}\n"));
  ASSERT_EQ(config.classes.size(), 3u);
  EXPECT_EQ(config.classes[1].ttft, Duration::Seconds(3));
  EXPECT_EQ(config.classes[1].queue, Duration::Seconds(20));
  EXPECT_TRUE(config.classes[1].refuse_late);
  EXPECT_TRUE(config.classes[1].is_default);
  EXPECT_FALSE(config.classes[0].refuse_late);
  EXPECT_EQ(config.classes[0].queue, Duration::Seconds(600));
}

TEST(Classes, KeysLeftOutOfANamedBuiltInAreThoseOfTheBuiltIn) {
  const Config config = Parsed(WithReplica("classes: {background: {queue: 1h}}\n"));
  EXPECT_EQ(config.classes[2].ttft, Duration::Seconds(3600));
  EXPECT_TRUE(config.classes[2].evictable);
  EXPECT_TRUE(config.classes[2].refuse_late);
}

std::vector<std::string> RankedIn(const Config& config) {
  std::vector<std::string> names;
  for (const ClassConfig& each : config.classes) names.push_back(each.name);
  return names;
}

TEST(Classes, FurtherOnesRankByTheirTtftAndThenByTheFile) {
  const Config config = Parsed(WithReplica(
      "classes: {zeta: {ttft: 1s, tpot: 1s, queue: 1s}, alpha: {ttft: 1s, tpot: 1s, queue: 1s, default: true}}\n"));
  EXPECT_THAT(RankedIn(config), ElementsAre("interactive", "zeta", "alpha", "standard", "background"));
  EXPECT_TRUE(config.classes[2].is_default);
  EXPECT_FALSE(config.classes[3].is_default);
}

TEST(Classes, TheRankOfAFurtherOneFollowsTheGoalsOfTheFile) {
  const Config config = Parsed(
      WithReplica("classes: {gold: {ttft: 500ms, tpot: 20ms, queue: 1s}, silver: {ttft: 3s, tpot: 1s, queue: 1s}, "
                  "slow: {ttft: 2d, tpot: 1s, queue: 1s}, jobs: {ttft: 1s}, standard: {ttft: 6s}}\n"));
  EXPECT_THAT(RankedIn(config), ElementsAre("gold", "interactive", "silver", "standard", "background", "slow", "jobs"));
  EXPECT_TRUE(config.classes[3].is_default);
}

TEST(Classes, AFurtherOneNeedsItsGoals) {
  EXPECT_THAT(FindingsOf(WithReplica("classes: {mine: {ttft: 1s, queue: 1s}}\n")),
              HasSubstr("classes.mine.tpot: is required for a new class"));
}

TEST(Classes, WordsOfTheMetricsAreNoNames) {
  for (const std::string word : {"none", "other"}) {
    EXPECT_THAT(FindingsOf(WithReplica("classes: {" + word + ": {ttft: 1s, tpot: 1s, queue: 1s}}\n")),
                HasSubstr("classes." + word + ": is a word of the metrics"));
    Parsed(WithReplica("classes: {" + word + "s: {ttft: 1s, tpot: 1s, queue: 1s}}\n"));
  }
}

TEST(Classes, OnlyOneIsTheDefault) {
  EXPECT_THAT(FindingsOf(WithReplica("classes:\n  interactive: {default: true}\n  standard: {default: true}\n")),
              HasSubstr("f.yaml:4:13: classes.standard: is a second default class beside interactive"));
}

TEST(Classes, GoalsHaveUnitsAndRanges) {
  EXPECT_THAT(FindingsOf(WithReplica("classes: {standard: {ttft: 2}}\n")),
              HasSubstr("classes.standard.ttft: \"2\" needs a unit"));
  EXPECT_THAT(FindingsOf(WithReplica("classes: {standard: {ttft: 0s}}\n")), HasSubstr("0s is outside 1ms to 30d"));
  EXPECT_THAT(FindingsOf(WithReplica("classes: {\"My Class\": {}}\n")), HasSubstr("a class name has letters"));
}

TEST(Classes, SharesThatCannotAllBeMetAreAWarning) {
  const auto of = [](const std::string& shares) {
    return Warnings(Parsed(WithReplica("classes: {" + shares + "}\n")));
  };
  EXPECT_THAT(of("standard: {share: 0.7}, background: {share: 0.3}"), IsEmpty());
  EXPECT_THAT(of("interactive: {share: 1}"), IsEmpty()) << "none is before it";
  EXPECT_THAT(
      of("standard: {share: 0.7}, background: {share: 0.4}"),
      ElementsAre("classes: the shares below the most urgent class add up to 1.1, and more than 1 cannot be met"));
}

TEST(Classes, APromotionThatComesAfterTheQueueIsAWarning) {
  const auto of = [](const std::string& keys) {
    return Warnings(Parsed(WithReplica("classes: {standard: {queue: 20s" + keys + "}}\n")));
  };
  EXPECT_THAT(of(""), IsEmpty());
  EXPECT_THAT(of(", promote_after: 20s"), IsEmpty());
  EXPECT_THAT(
      of(", promote_after: 21s"),
      ElementsAre("classes: standard: promote_after of 21s is longer than the queue of 20s: no request of it is "
                  "promoted"));
}

TEST(Classes, OneThatNobodyMayUseIsAWarning) {
  const std::string goals = "classes: {interactive: {ttft: 1s, tpot: 50ms, queue: 5s}}\nadmin_listen: 127.0.0.1:1\n";
  const auto of = [&](const std::string& more) { return Warnings(Parsed(WithReplica(goals + more))); };
  const std::string low = "{name: a, keys: [k], max_class: standard}";
  EXPECT_THAT(of("tenants: [" + low + "]\n"),
              ElementsAre("classes: interactive: nobody may use it: every tenant has a max_class below it"));
  EXPECT_THAT(of("tenants: [" + low + ", {name: b, keys: [l], max_class: interactive}]\n"), IsEmpty());
  EXPECT_THAT(of("tenants: [" + low + ", {name: b, keys: [l]}]\n"), IsEmpty());
  EXPECT_THAT(of(""), IsEmpty());
}

TEST(Classes, ABuiltInThatNobodyMayUseAndNobodyNamesIsNone) {
  EXPECT_THAT(Warnings(Parsed(WithReplica("admin_listen: 127.0.0.1:1\n"
                                          "tenants: [{name: a, keys: [k], max_class: background}]\n"))),
              ElementsAre(HasSubstr("classes: standard: nobody may use it")));
}

TEST(Classes, OneAboveTheBoundOfItsTenantIsAWarning) {
  EXPECT_THAT(Warnings(Parsed(WithReplica("admin_listen: 127.0.0.1:1\ntenants: [{name: a, keys: [k], "
                                          "class: interactive, max_class: standard}]\n"))),
              ElementsAre("tenants: a: class interactive is above its max_class standard, so its requests have that "
                          "one"));
}

}  // namespace
}  // namespace penstock
