#include "router/core/tenants/service_ledger.h"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock {
namespace {

const Instant kLedgerStart = Instant::FromSeconds(100);

class ServiceLedgerTest : public ::testing::Test {
 protected:
  ServiceLedgerTest() { Configure(FairnessMode::kWeighted); }
  void Configure(FairnessMode mode, std::vector<TenantSpec> tenants = {}) {
    Fleet fleet;
    fleet.fairness.mode = mode;
    fleet.tenants = std::move(tenants);
    terms_.Configure(fleet);
    ledger_.Configure();
  }
  static TenantSpec Weighted(uint64_t id, double weight) {
    TenantSpec tenant;
    tenant.id = TenantId(id);
    tenant.weight = weight;
    return tenant;
  }
  void Wait(uint64_t tenant, double place_s = 1) {
    ledger_.SetHead(TenantId(tenant), {Instant::FromSeconds(place_s), ++sequence_, false, 50});
  }
  TenantCharge Charge(uint64_t tenant, double service, double at_s = 0) {
    return ledger_.Charge(TenantId(tenant), service, true, kLedgerStart + Duration::Seconds(at_s));
  }
  uint64_t First() const { return (*ledger_.waiting().begin())->tenant.value(); }

  FairTerms terms_;
  ServiceLedger ledger_{&terms_};
  uint64_t sequence_ = 0;
};

TEST_F(ServiceLedgerTest, TheLeastServedForItsWeightIsFirst) {
  Configure(FairnessMode::kWeighted, {Weighted(1, 3)});
  Wait(1);
  Wait(2);
  EXPECT_EQ(Charge(1, 300).running, 100);
  EXPECT_EQ(First(), 2u);
  Charge(2, 99);
  EXPECT_EQ(First(), 2u) << "99 for weight 1 is less than 300 for weight 3";
  Charge(2, 2);
  EXPECT_EQ(First(), 1u);
}

TEST_F(ServiceLedgerTest, OfEqualsTheOneServedLongestAgoIsFirst) {
  Wait(1);
  Wait(2);
  Charge(1, 10);
  Charge(2, 10);
  EXPECT_EQ(First(), 1u);
  Wait(3);
  EXPECT_EQ(First(), 1u) << "a newcomer of the same counter waits for its turn";
}

TEST_F(ServiceLedgerTest, ATenantThatReturnsFromIdlenessHasSavedNothing) {
  Wait(1);
  Wait(2);
  Charge(1, 1000);
  Charge(2, 900);
  EXPECT_EQ(ledger_.CounterOf(TenantId(3), 100), 900);
  Wait(3);
  EXPECT_EQ(ledger_.Find(TenantId(3))->counter, 900) << "the least of those that wait";
  ledger_.ClearHead(TenantId(1));
  Wait(1);
  EXPECT_EQ(ledger_.Find(TenantId(1))->counter, 950) << "and it owes at most one request, of 50";
  ledger_.ClearHead(TenantId(2));
  Charge(3, 1000);
  Wait(2);
  EXPECT_EQ(ledger_.Find(TenantId(2))->counter, 900) << "a known tenant returns up to one request below the least";
}

TEST_F(ServiceLedgerTest, ATenantReturnsToAnEmptyQueueAtTheCounterServedLast) {
  ledger_.Charge(TenantId(1), 500, false, kLedgerStart);
  ledger_.Charge(TenantId(1), 500, false, kLedgerStart);
  ledger_.Charge(TenantId(2), 100, false, kLedgerStart);
  EXPECT_EQ(ledger_.Find(TenantId(2))->counter, 600) << "from the 500 at which the last request began";
}

TEST_F(ServiceLedgerTest, AnEndCorrectsTheChargeToItsUse) {
  Configure(FairnessMode::kWeighted, {Weighted(1, 2)});
  Wait(1);
  const TenantCharge charged = Charge(1, 1000);
  ledger_.Settle(TenantId(1), charged, 400, kLedgerStart);
  EXPECT_EQ(ledger_.Find(TenantId(1))->counter, 200);
  EXPECT_EQ(terms_.ServiceOf(TenantId(1)), 400);
  EXPECT_EQ(ledger_.running().over_weights, 0);
  const TenantCharge refused = Charge(1, 1000);
  ledger_.Settle(TenantId(1), refused, 0, kLedgerStart);
  EXPECT_EQ(ledger_.Find(TenantId(1))->counter, 200) << "a request that used nothing costs nothing";
  EXPECT_TRUE(ledger_.SumsHold());
}

TEST_F(ServiceLedgerTest, ATenantSeenOnceIsForgottenAfterAMinute) {
  Wait(1);
  const TenantCharge charged = Charge(1, 1000);
  ledger_.ClearHead(TenantId(1));
  ledger_.Settle(TenantId(1), charged, 1000, kLedgerStart);
  Wait(2);
  const auto pass = [&](double at_s) {
    ledger_.Settle(TenantId(2), Charge(2, 1, at_s), 1, kLedgerStart + Duration::Seconds(at_s));
  };
  pass(59);
  EXPECT_NE(ledger_.Find(TenantId(1)), nullptr);
  pass(60);
  EXPECT_EQ(ledger_.Find(TenantId(1)), nullptr);
  EXPECT_EQ(ledger_.size(), 1u);
}

TEST_F(ServiceLedgerTest, MadeUpTenantsAreForgottenOnceThereAreTooMany) {
  for (uint64_t tenant = 1; tenant <= 2 * ServiceLedger::kMostIdle; ++tenant) {
    Wait(tenant);
    ledger_.ClearHead(TenantId(tenant));
  }
  EXPECT_LE(ledger_.size(), ServiceLedger::kMostIdle + 1);
  EXPECT_TRUE(ledger_.SumsHold());
}

TEST_F(ServiceLedgerTest, TheLeastServedTenantHoldsOthersBackUnlessItIsExcused) {
  Wait(1);
  EXPECT_EQ(ledger_.Behind(), nullptr) << "one tenant alone has nobody to wait for";
  Wait(2);
  Charge(2, 100, 7);
  EXPECT_EQ(ledger_.Behind()->tenant, TenantId(1));
  ledger_.SetHead(TenantId(1), {Instant(), 1, true, 0, Instant()});
  EXPECT_EQ(ledger_.Behind()->tenant, TenantId(2));
  EXPECT_EQ(ledger_.Behind()->served_at, kLedgerStart + Duration::Seconds(7));
}

TEST_F(ServiceLedgerTest, LeadsOrdersByPlaceUntilATenantHasLessThanItsPromise) {
  Configure(FairnessMode::kLeads);
  Wait(1, 5);
  Wait(2, 1);
  EXPECT_EQ(First(), 2u) << "nobody was promised anything yet: the earlier place goes first";
  Charge(2, 1000);
  EXPECT_EQ(ledger_.promised(), ServiceLedger::kGuaranteed * 1000 / 2);
  EXPECT_EQ(First(), 1u) << "it got less than 300";
  Charge(1, 400);
  EXPECT_EQ(ledger_.promised(), ServiceLedger::kGuaranteed * 1400 / 2);
  EXPECT_EQ(First(), 1u) << "it got less than 420";
  Charge(1, 400);
  EXPECT_EQ(First(), 2u) << "both got more than 540";
}

TEST_F(ServiceLedgerTest, LeadsForgivesWhatDensityGave) {
  Configure(FairnessMode::kLeads);
  Wait(1);
  for (int i = 0; i < 100; ++i) Charge(1, 1000);
  EXPECT_LE(ledger_.Find(TenantId(1))->counter, ledger_.promised() + FairTerms::kMostOwed);
}

// Others would have to wait for what a tenant never owed.
TEST_F(ServiceLedgerTest, AnEndGivesBackOnlyWhatItsChargeTook) {
  Configure(FairnessMode::kLeads);
  Wait(1);
  Wait(2);
  std::vector<TenantCharge> charges;
  for (int i = 0; i < 100; ++i) charges.push_back(Charge(1, 5000));
  const auto bound = [this] { return ledger_.promised() + FairTerms::kMostOwed; };
  EXPECT_LE(ledger_.Find(TenantId(1))->counter, bound());
  const double before = ledger_.Find(TenantId(1))->counter;
  EXPECT_EQ(ledger_.running().over_weights, 500'000) << "the engines have all of them";
  // The clients of half of them leave before an engine did anything.
  for (size_t i = 0; i < charges.size(); ++i) {
    ledger_.Settle(TenantId(1), charges[i], i % 2 == 0 ? 0 : 5000, kLedgerStart);
    EXPECT_LE(ledger_.Find(TenantId(1))->counter, bound());
  }
  double moved = 0;
  for (const TenantCharge& charge : charges) moved += charge.moved;
  EXPECT_GE(ledger_.Find(TenantId(1))->counter, before - moved) << "its counter never fell below where it began";
  EXPECT_GE(ledger_.Find(TenantId(1))->counter, ledger_.promised()) << "half of them are more than its promise";
  EXPECT_EQ(terms_.ServiceOf(TenantId(1)), 0) << "it is not configured";
  EXPECT_TRUE(ledger_.SumsHold());
}

TEST_F(ServiceLedgerTest, AChargeIsSettledAtItsServiceThoughTheWeightChangedSince) {
  Configure(FairnessMode::kWeighted, {Weighted(1, 1)});
  Wait(1);
  const TenantCharge charged = Charge(1, 5000);
  Configure(FairnessMode::kWeighted, {Weighted(1, 1000)});
  ledger_.Settle(TenantId(1), charged, 5000, kLedgerStart);
  EXPECT_EQ(terms_.ServiceOf(TenantId(1)), 5000);
  EXPECT_EQ(ledger_.Find(TenantId(1))->counter, 5);
}

// A sum in doubles forgets small charges beside a very large one.
TEST_F(ServiceLedgerTest, AHugeChargeThatEndedLeavesNoneBelowZero) {
  Configure(FairnessMode::kWeighted, {Weighted(1, 0.001)});
  Wait(1);
  Wait(2);
  // 128 sequences of 128,000 tokens of 400 kB for days.
  const TenantCharge huge = Charge(1, 1e18);
  const TenantCharge small = Charge(2, 1000);
  const TenantCharge last = Charge(2, 1);
  ledger_.Settle(TenantId(1), huge, huge.service, kLedgerStart);
  ledger_.Settle(TenantId(2), small, 1000, kLedgerStart);
  EXPECT_GE(ledger_.running().over_weights, 0);
  EXPECT_TRUE(ledger_.SumsHold()) << "its rounding is no drift of the books";
  ledger_.Settle(TenantId(2), last, 1, kLedgerStart);
  EXPECT_EQ(ledger_.running().over_weights, 0);
  Charge(2, 1000);
  EXPECT_EQ(ledger_.running().over_weights, 1000);
}

TEST_F(ServiceLedgerTest, AnotherFairnessBeginsNewBooks) {
  Wait(1);
  const uint32_t books = ledger_.books();
  Charge(1, 10);
  Configure(FairnessMode::kWeighted, {Weighted(1, 4)});
  EXPECT_EQ(ledger_.books(), books);
  EXPECT_EQ(ledger_.Find(TenantId(1))->weight, 4);
  Configure(FairnessMode::kLeads);
  EXPECT_NE(ledger_.books(), books);
  EXPECT_EQ(ledger_.size(), 0u);
}

}  // namespace
}  // namespace penstock
