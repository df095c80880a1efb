#include "backends/names/look_up_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

constexpr Duration kQuick = Duration::Milliseconds(5);
constexpr Duration kHung = Duration::Seconds(10);

// Adds names of this kind and begins what may begin.
std::vector<std::string> Begin(LookUpQueue& queue, const std::string& kind, size_t count) {
  for (size_t i = 0; i < count; ++i) queue.Add(kind + std::to_string(i));
  return queue.Begin();
}

TEST(LookUpQueueTest, NamesBeginAtOnceAndInOrder) {
  LookUpQueue queue;
  EXPECT_EQ(Begin(queue, "a", 2), (std::vector<std::string>{"a0", "a1"}));
  EXPECT_TRUE(queue.Begin().empty());
}

TEST(LookUpQueueTest, TheLookUpsAreBoundedAndAnEndLetsTheNextBegin) {
  LookUpQueue queue;
  EXPECT_EQ(Begin(queue, "a", LookUpQueue::kMost + 1).size(), LookUpQueue::kMost);
  queue.End("a3", kQuick);
  EXPECT_EQ(queue.Begin(), std::vector<std::string>{"a" + std::to_string(LookUpQueue::kMost)});
}

TEST(LookUpQueueTest, NamesThatHungLeavePlacesForTheOthers) {
  LookUpQueue queue;
  for (const std::string& name : Begin(queue, "hung", LookUpQueue::kMost)) queue.End(name, kHung);
  EXPECT_EQ(Begin(queue, "hung", LookUpQueue::kMost).size(), LookUpQueue::kMostSlow);
  EXPECT_EQ(Begin(queue, "good", 100).size(), LookUpQueue::kMost - LookUpQueue::kMostSlow);
}

TEST(LookUpQueueTest, ANameThatAnswersQuicklyAgainIsLikeTheOthers) {
  LookUpQueue queue;
  for (const std::string& name : Begin(queue, "a", LookUpQueue::kMost)) queue.End(name, kHung);
  for (const std::string& name : Begin(queue, "a", 10)) queue.End(name, kQuick);
  EXPECT_EQ(Begin(queue, "a", 10).size(), 10u);
  for (size_t i = 10; i < LookUpQueue::kMost; ++i) queue.Add("a" + std::to_string(i));
  EXPECT_EQ(queue.Begin().size(), LookUpQueue::kMostSlow) << "the ten take none of the places of those that hung";
}

TEST(LookUpQueueTest, QuickNamesGoFirst) {
  LookUpQueue queue;
  Begin(queue, "hung", 1);
  queue.End("hung0", kHung);
  queue.Add("hung0");
  queue.Add("good");
  EXPECT_EQ(queue.Begin(), (std::vector<std::string>{"good", "hung0"}));
}

}  // namespace
}  // namespace penstock
