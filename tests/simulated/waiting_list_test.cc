#include "backends/simulated/machine/waiting_list.h"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

std::vector<int> Drained(WaitingList list) {
  std::vector<int> slots;
  while (!list.empty()) {
    slots.push_back(list.front());
    list.Remove(list.front());
  }
  return slots;
}

TEST(WaitingList, SlotsLeaveInOrderAndAPreemptedSlotComesFirst) {
  WaitingList list;
  EXPECT_EQ(list.front(), WaitingList::kNone);
  list.PushBack(4);
  list.PushBack(0);
  list.PushFront(2);
  EXPECT_EQ(list.size(), 3);
  EXPECT_EQ(Drained(list), (std::vector<int>{2, 4, 0}));
}

TEST(WaitingList, AnySlotCanBeRemoved) {
  for (const int removed : {0, 1, 2}) {
    WaitingList list;
    for (const int slot : {0, 1, 2}) list.PushBack(slot);
    list.Remove(removed);
    std::vector<int> rest = {0, 1, 2};
    rest.erase(rest.begin() + removed);
    EXPECT_EQ(Drained(list), rest);
  }
}

TEST(WaitingList, BehavesAsADequeUnderRandomOperations) {
  std::mt19937 random(7);
  WaitingList list;
  std::deque<int> model;
  for (int i = 0; i < 5000; ++i) {
    const int slot = static_cast<int>(random() % 20);
    const auto at = std::find(model.begin(), model.end(), slot);
    if (at != model.end()) {
      list.Remove(slot);
      model.erase(at);
    } else if (random() % 3 == 0) {
      list.PushFront(slot);
      model.push_front(slot);
    } else {
      list.PushBack(slot);
      model.push_back(slot);
    }
    ASSERT_EQ(list.size(), static_cast<int>(model.size()));
    ASSERT_EQ(list.front(), model.empty() ? WaitingList::kNone : model.front());
  }
  EXPECT_EQ(Drained(list), std::vector<int>(model.begin(), model.end()));
}

}  // namespace
}  // namespace penstock::simulated
