#include "base/fair_budget.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace penstock {
namespace {

constexpr Bytes kLimit{1'000'000};

// The most that one holding of a caller can grow to, in steps.
Bytes Most(FairShare& share, int64_t step) {
  while (share.GrowTo(share.held() + Bytes(step), kLimit)) continue;
  return share.held();
}

TEST(FairBudget, ASingleHoldingMayTakeAll) {
  FairBudget budget;
  FairShare only(&budget, 1);
  EXPECT_TRUE(only.GrowTo(kLimit, kLimit));
  EXPECT_FALSE(only.GrowTo(kLimit + Bytes(1), kLimit));
  EXPECT_EQ(budget.used(), kLimit);
  only.Release();
  EXPECT_EQ(budget.used(), Bytes(0));
}

TEST(FairBudget, OneCallerTakesHalfAndLeavesRoomForOthers) {
  FairBudget budget;
  std::vector<FairShare> hogs;
  for (int i = 0; i < 20; ++i) {
    hogs.emplace_back(&budget, 1);
    if (!hogs.back().GrowTo(Bytes(100'000), kLimit)) break;
  }
  EXPECT_EQ(budget.used(), Bytes(500'000));
  FairShare other(&budget, 2);
  EXPECT_TRUE(other.GrowTo(Bytes(200'000), kLimit));
}

TEST(FairBudget, SmallHoldingsFitBesideLargeOnes) {
  FairBudget budget;
  FairShare first(&budget, 1), second(&budget, 1);
  ASSERT_TRUE(first.GrowTo(Bytes(100'000), kLimit));
  ASSERT_GE(Most(second, 100'000), Bytes(400'000));
  FairShare large(&budget, 1), small(&budget, 1);
  EXPECT_FALSE(large.GrowTo(Bytes(100'000), kLimit));
  EXPECT_TRUE(small.GrowTo(Bytes(24'000), kLimit));
}

TEST(FairBudget, ManySmallHoldingsOfOneCallerLeaveAQuarter) {
  FairBudget budget;
  std::vector<FairShare> hogs;
  for (int i = 0; i < 200; ++i) {
    hogs.emplace_back(&budget, 1);
    hogs.back().GrowTo(Bytes(10'000), kLimit);
  }
  EXPECT_EQ(budget.used(), Bytes(750'000));
  FairShare other(&budget, 2);
  EXPECT_TRUE(other.GrowTo(Bytes(100'000), kLimit));
}

TEST(FairBudget, AShareIsGivenBackOnceAndMoves) {
  FairBudget budget;
  {
    FairShare share(&budget, 1);
    ASSERT_TRUE(share.GrowTo(Bytes(100), kLimit));
    FairShare moved = std::move(share);
    EXPECT_EQ(budget.used(), Bytes(100));
    moved = FairShare(&budget, 2);
    EXPECT_EQ(budget.used(), Bytes(0));
    ASSERT_TRUE(moved.GrowTo(Bytes(50), kLimit));
  }
  EXPECT_EQ(budget.used(), Bytes(0));
  FairShare unbounded;
  EXPECT_TRUE(unbounded.GrowTo(kLimit * 2, kLimit));
  unbounded.ShrinkTo(Bytes(0));
}

TEST(FairBudget, APartOfAShareMayBeGivenBack) {
  FairBudget budget;
  FairShare share(&budget, 1);
  ASSERT_TRUE(share.GrowTo(kLimit, kLimit));
  share.ShrinkTo(kLimit * 2);
  EXPECT_EQ(budget.used(), kLimit);
  share.ShrinkTo(Bytes(100));
  EXPECT_EQ(share.held(), Bytes(100));
  EXPECT_EQ(budget.used(), Bytes(100));
  EXPECT_TRUE(share.GrowTo(kLimit, kLimit));
}

}  // namespace
}  // namespace penstock
