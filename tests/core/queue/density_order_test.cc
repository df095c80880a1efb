#include "router/core/queue/density_order.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(DensityOrder, ExpensiveTokensGoBehindCheapOnes) {
  DensityOrder order;
  double shifts[3] = {};
  for (int i = 0; i < 300; ++i) shifts[i % 3] = order.Shift(TenantId(1), Tokens(500), i % 3 == 0 ? 1e-4 : i % 3 * 1e-2);
  EXPECT_LT(shifts[0], shifts[1]);
  EXPECT_LT(shifts[1], shifts[2]);
  EXPECT_GE(shifts[0], 0);
  EXPECT_LE(shifts[2], DensityOrder::kMostShift);
}

TEST(DensityOrder, RequestsOfAboutTheSameCostStayInOrderOfArrival) {
  DensityOrder order;
  const double first = order.Shift(TenantId(1), Tokens(500), 1e-3);
  for (int i = 0; i < 300; ++i) order.Shift(TenantId(1), Tokens(500), 1e-3);
  const double cheaper = order.Shift(TenantId(1), Tokens(500), 0.9e-3);
  const double expensiveer = order.Shift(TenantId(1), Tokens(500), 1.1e-3);
  EXPECT_LT(cheaper, expensiveer);
  EXPECT_NEAR(cheaper, expensiveer, 0.15);
  EXPECT_NEAR(first, expensiveer, 0.15);
}

TEST(DensityOrder, TheMoreIsRefusedTheMoreCostCounts) {
  DensityOrder order;
  const auto distance = [&order] {
    for (int i = 0; i < 300; ++i) order.Shift(TenantId(1), Tokens(500), i % 2 == 0 ? 1e-3 : 1e-2);
    return order.Shift(TenantId(2), Tokens(50), 1e-2) - order.Shift(TenantId(2), Tokens(50), 1e-3);
  };
  const double idle = distance();
  for (int i = 0; i < 300; ++i) order.Served(TenantId(1), Tokens(500));
  EXPECT_NEAR(distance(), idle, 0.05);
  for (int i = 0; i < 300; ++i) order.Refused(TenantId(1), Tokens(500));
  EXPECT_GT(distance(), 2 * idle);
}

TEST(DensityOrder, AKindThatIsRefusedMuchMoreThanOthersIsBoostedUntilItHasCaughtUp) {
  DensityOrder order;
  for (int i = 0; i < 300; ++i) order.Shift(TenantId(1), Tokens(100), i % 2 == 0 ? 1e-4 : 1e-2);
  for (int i = 0; i < 1000; ++i) order.Served(TenantId(1), Tokens(100));
  const auto place = [&order](uint64_t tenant, int64_t prompt) {
    return order.Shift(TenantId(tenant), Tokens(prompt), 1e-1);
  };
  const double other = place(3, 800);
  double before = other;
  for (int i = 0; i < 40; ++i) {
    order.Refused(TenantId(2), Tokens(5000));
    EXPECT_LT(place(2, 5000), before) << "the tenant and its kind of prompt";
    before = place(2, 5000);
    if (before == 0) break;
  }
  EXPECT_LT(place(2, 100), place(3, 100)) << "the tenant";
  EXPECT_LT(place(3, 5000), place(3, 800)) << "its kind of prompt";
  EXPECT_GE(place(3, 800), other) << "other kinds are not boosted";
  for (int i = 0; i < 400; ++i) order.Served(TenantId(2), Tokens(5000));
  EXPECT_NEAR(place(2, 5000), place(3, 800), 0.05);
}

TEST(DensityOrder, AKindIsServedItsPartOfTheShareThatAllAreServed) {
  // Two of three requests can be served; none of them would be of the expensive kind.
  DensityOrder order;
  int expensive = 0;
  constexpr int kRounds = 3000;
  for (int i = 0; i < kRounds; ++i) {
    const double cheap = order.Shift(TenantId(1), Tokens(100), 1e-3);
    const bool served = order.Shift(TenantId(2), Tokens(5000), 1e-1) < cheap;
    order.Served(TenantId(1), Tokens(100));
    served ? order.Refused(TenantId(1), Tokens(100)) : order.Served(TenantId(1), Tokens(100));
    served ? order.Served(TenantId(2), Tokens(5000)) : order.Refused(TenantId(2), Tokens(5000));
    if (i >= kRounds / 2) expensive += served ? 1 : 0;
  }
  const double share = expensive / (kRounds / 2.0);
  EXPECT_NEAR(share, DensityOrder::kGuaranteed * 2 / 3, 0.05);
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

}  // namespace
}  // namespace penstock
