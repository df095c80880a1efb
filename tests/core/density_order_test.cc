#include "router/core/density_order.h"

#include <gtest/gtest.h>

#include "router/core/prefix_index.h"

namespace penstock {
namespace {

TEST(DensityOrder, DearTokensGoBehindCheapOnes) {
  DensityOrder order;
  double shifts[3] = {};
  for (int i = 0; i < 300; ++i) shifts[i % 3] = order.Shift(TenantId(1), Tokens(500), i % 3 == 0 ? 1e-4 : i % 3 * 1e-2);
  EXPECT_LT(shifts[0], shifts[1]);
  EXPECT_LT(shifts[1], shifts[2]);
  EXPECT_GE(shifts[0], 0);
  EXPECT_LE(shifts[2], DensityOrder::kMostShift);
}

TEST(DensityOrder, TheFirstRequestIsNotShifted) { EXPECT_EQ(DensityOrder().Shift(TenantId(), Tokens(1), 1), 0); }

TEST(DensityOrder, ATenantThatIsRefusedMuchMoreThanOthersIsProtectedUntilItHasCaughtUp) {
  DensityOrder order;
  for (int i = 0; i < 100; ++i) order.Shift(TenantId(1), Tokens(100), 1e-4);
  for (int i = 0; i < 100; ++i) order.Served(TenantId(1), Tokens(100));
  for (int i = 0; i < 20; ++i) order.Refused(TenantId(2), Tokens(5000));
  EXPECT_GT(order.Shift(TenantId(3), Tokens(800), 1e-1), 0);
  EXPECT_EQ(order.Shift(TenantId(2), Tokens(100), 1e-1), 0) << "the tenant";
  EXPECT_EQ(order.Shift(TenantId(3), Tokens(5000), 1e-1), 0) << "its kind of prompt";
  for (int i = 0; i < 100; ++i) order.Served(TenantId(2), Tokens(5000));
  EXPECT_GT(order.Shift(TenantId(2), Tokens(5000), 1e-1), 0);
}

TEST(DensityOrder, AnyCostAndPromptIsAccepted) {
  DensityOrder order;
  for (const double cost : {0.0, 1e-300, 1e300}) {
    for (const int64_t prompt : {int64_t{0}, int64_t{1}, INT64_MAX}) {
      const double shift = order.Shift(TenantId(~0ULL), Tokens(prompt), cost);
      EXPECT_GE(shift, 0);
      EXPECT_LE(shift, DensityOrder::kMostShift);
      order.Refused(TenantId(~0ULL), Tokens(prompt));
    }
  }
}

TEST(PrefixIndex, MatchesTheLeadingBlocksOfWhatWasDispatched) {
  PrefixIndex index;
  index.SetCapacity(10);
  EXPECT_EQ(index.Match({1, 2, 3}), 0);
  index.Touch({1, 2, 3});
  EXPECT_EQ(index.Match({1, 2, 3, 4}), 3);
  EXPECT_EQ(index.Match({1, 9}), 1);
  EXPECT_EQ(index.Match({}), 0);
}

TEST(PrefixIndex, ForgetsTheOldestPromptsTailFirst) {
  PrefixIndex index;
  index.SetCapacity(4);
  index.Touch({1, 2, 3});
  index.Touch({7, 8});
  EXPECT_EQ(index.Match({1, 2, 3}), 2);
  EXPECT_EQ(index.Match({7, 8}), 2);
  index.Touch({11, 12, 13, 14, 15, 16});
  EXPECT_EQ(index.Match({11, 12, 13, 14, 15, 16}), 4);
  EXPECT_EQ(index.Match({1}), 0);
  index.Clear();
  EXPECT_EQ(index.Match({11}), 0);
}

TEST(PrefixIndex, KeepsNothingWithoutCapacity) {
  PrefixIndex index;
  index.Touch({1});
  EXPECT_EQ(index.Match({1}), 0);
}

}  // namespace
}  // namespace penstock
