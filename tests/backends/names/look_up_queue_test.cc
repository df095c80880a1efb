#include "backends/names/look_up_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

constexpr Instant kStart = Instant::FromNanoseconds(1'000'000'000'000);
constexpr Duration kQuick = Duration::Milliseconds(5);
constexpr Duration kHung = Duration::Seconds(10);

// A queue with a clock.
struct Clocked {
  // Adds names of this kind and begins what may begin.
  std::vector<std::string> Begin(const std::string& kind, size_t count) {
    for (size_t i = 0; i < count; ++i) queue.Add(kind + std::to_string(i));
    return queue.Begin(now);
  }
  std::vector<std::string> Begin() { return queue.Begin(now); }
  // The look-ups of these names end after some time.
  void End(const std::vector<std::string>& names, Duration took) {
    now = now + took;
    for (const std::string& name : names) queue.End(name, now);
  }

  LookUpQueue queue;
  Instant now = kStart;
};

TEST(LookUpQueueTest, NamesBeginAtOnceAndInOrder) {
  Clocked all;
  EXPECT_EQ(all.Begin("a", 2), (std::vector<std::string>{"a0", "a1"}));
  EXPECT_TRUE(all.Begin().empty());
}

TEST(LookUpQueueTest, TheLookUpsAreBoundedAndAnEndLetsTheNextBegin) {
  Clocked all;
  EXPECT_EQ(all.Begin("a", LookUpQueue::kMostYoung + 1).size(), LookUpQueue::kMostYoung);
  all.End({"a3"}, kQuick);
  EXPECT_EQ(all.Begin(), std::vector<std::string>{"a" + std::to_string(LookUpQueue::kMostYoung)});
}

TEST(LookUpQueueTest, NamesThatHungLeavePlacesForTheOthers) {
  Clocked all;
  all.End(all.Begin("hung", LookUpQueue::kMostYoung), kHung);
  EXPECT_EQ(all.Begin("hung", LookUpQueue::kMostYoung).size(), LookUpQueue::kMostSlow);
  EXPECT_EQ(all.Begin("good", 100).size(), LookUpQueue::kMostYoung - LookUpQueue::kMostSlow);
}

TEST(LookUpQueueTest, ANameThatAnswersQuicklyAgainIsLikeTheOthers) {
  Clocked all;
  all.End(all.Begin("a", LookUpQueue::kMostYoung), kHung);
  all.End(all.Begin("a", 10), kQuick);
  EXPECT_EQ(all.Begin("a", 10).size(), 10u);
  for (size_t i = 10; i < LookUpQueue::kMostYoung; ++i) all.queue.Add("a" + std::to_string(i));
  EXPECT_EQ(all.Begin().size(), LookUpQueue::kMostSlow) << "the ten take none of the places of those that hung";
}

TEST(LookUpQueueTest, QuickNamesGoFirst) {
  Clocked all;
  all.End(all.Begin("hung", 1), kHung);
  all.queue.Add("hung0");
  all.queue.Add("good");
  EXPECT_EQ(all.Begin(), (std::vector<std::string>{"good", "hung0"}));
}

TEST(LookUpQueueTest, LookUpsThatHangDelayOtherNamesByASecondAtMost) {
  Clocked all;
  EXPECT_EQ(all.Begin("hung", 100).size(), LookUpQueue::kMostYoung);
  all.queue.Add("good");
  EXPECT_TRUE(all.Begin().empty());
  EXPECT_TRUE(all.queue.WaitsForHung());
  all.now = all.now + LookUpQueue::kSlow;
  const std::vector<std::string> next = all.Begin();
  ASSERT_EQ(next.size(), 100 - LookUpQueue::kMostYoung + 1);
  EXPECT_EQ(next.back(), "good");
  EXPECT_FALSE(all.queue.WaitsForHung());
}

TEST(LookUpQueueTest, NamesThatAnsweredHaveTheLastPlaces) {
  Clocked all;
  all.End(all.Begin("good", LookUpQueue::kForKnown), kQuick);
  size_t begun = all.Begin("hung", 1000).size();
  for (int second = 0; second < 20; ++second) {
    all.now = all.now + LookUpQueue::kSlow;
    begun += all.Begin().size();
  }
  EXPECT_EQ(begun, LookUpQueue::kMost - LookUpQueue::kForKnown) << "hung look-ups are bounded";
  EXPECT_EQ(all.Begin("good", LookUpQueue::kForKnown).size(), LookUpQueue::kForKnown);
}

TEST(LookUpQueueTest, WhatIsRememberedOfNamesIsBounded) {
  Clocked all;
  for (size_t i = 0; i < 3 * LookUpQueue::kMostKnown; ++i) {
    const std::string name = "n" + std::to_string(i);
    all.queue.Add(name);
    ASSERT_EQ(all.Begin().size(), 1u);
    all.End({name}, kHung);
  }
  EXPECT_EQ(all.queue.known(), LookUpQueue::kMostKnown);
}

}  // namespace
}  // namespace penstock
