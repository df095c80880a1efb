#include "kvmodel/memory_ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penstock {

struct BrokenLedger {
  static void Take(MemoryLedger& ledger, PoolId pool, Amount amount) { ledger.pools_[pool.value()].held -= amount; }
};

namespace {

constexpr Instant kLedgerStart = Instant::FromSeconds(50);

class MemoryLedgerTest : public ::testing::Test {
 protected:
  LeaseId Open(int64_t held, int64_t promised) { return ledger_.Open({{pool_, Amount(held), Amount(promised)}}); }
  std::vector<PoolId> Settle(Instant now) {
    std::vector<PoolId> freed;
    ledger_.Settle(now, freed);
    return freed;
  }
  UseReport Used(int64_t amount, Instant at) {
    UseReport report;
    report.sampled_at = at;
    report.used = Amount(amount);
    return report;
  }

  MemoryLedger ledger_;
  PoolId pool_ = ledger_.AddPool(Amount(1000));
};

TEST_F(MemoryLedgerTest, TotalsAreTheSumsOfTheLeases) {
  const LeaseId first = Open(100, 150);
  const LeaseId second = Open(10, 400);
  EXPECT_EQ(ledger_.balance(pool_).held, Amount(110));
  EXPECT_EQ(ledger_.balance(pool_).promised, Amount(550));
  ledger_.Update(first, {{pool_, Amount(120), Amount(150)}});
  EXPECT_EQ(ledger_.balance(pool_).held, Amount(130));
  ledger_.Release(second);
  EXPECT_EQ(ledger_.balance(pool_).promised, Amount(150));
  EXPECT_EQ(ledger_.leases(), 1);
}

TEST_F(MemoryLedgerTest, ARecountNamesThePoolWhoseTotalDrifted) {
  Open(100, 150);
  EXPECT_TRUE(ledger_.Recount().ok());
  BrokenLedger::Take(ledger_, pool_, Amount(1));
  EXPECT_EQ(ledger_.Recount().message(), "pool 0: held is 99, its leases sum to 100");
}

// Opens, updates, releases, drains and settles at random over two pools, and recounts after every step.
TEST_F(MemoryLedgerTest, ARecountAgreesAfterEveryRandomStep) {
  constexpr uint64_t kSeed = 71;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  const PoolId other = ledger_.AddPool(Amount(5000));
  std::vector<LeaseId> live;
  std::vector<PoolId> freed;
  Instant now = kLedgerStart;
  const auto holdings = [&] {
    const auto held = static_cast<int64_t>(random() % 50);
    return Holdings{{pool_, Amount(held), Amount(held + 7)}, {other, Amount(2 * held), Amount(2 * held + 9)}};
  };
  for (int step = 0; step < 3000; ++step) {
    now = now + Duration::Milliseconds(1);
    const uint64_t kind = random() % 5;
    const size_t at = live.empty() ? 0 : random() % live.size();
    if (kind == 0 || live.empty()) {
      live.push_back(ledger_.Open(holdings()));
    } else if (kind == 1) {
      ledger_.Update(live[at], holdings());
    } else if (kind == 2) {
      ledger_.Settle(now, freed);
    } else {
      if (kind == 3) ledger_.Release(live[at]);
      if (kind == 4) ledger_.Drain(live[at], now + Duration::Milliseconds(static_cast<int64_t>(random() % 40)));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSERT_TRUE(ledger_.Recount().ok()) << "step " << step << ": " << ledger_.Recount();
  }
  EXPECT_FALSE(freed.empty());
  for (const LeaseId lease : live) ledger_.Release(lease);
  ledger_.Settle(Instant::Never(), freed);
  EXPECT_EQ(ledger_.leases(), 0);
  EXPECT_EQ(ledger_.balance(other).held, Amount(0));
  EXPECT_EQ(ledger_.balance(other).draining, Amount(0));
}

TEST_F(MemoryLedgerTest, LeaseIdsAreNeverUsedTwice) {
  const LeaseId first = Open(1, 1);
  ledger_.Release(first);
  const LeaseId second = Open(1, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(ledger_.leases(), 1);
}

TEST_F(MemoryLedgerTest, AbortedMemoryIsTakenUntilItsDrainEnds) {
  const LeaseId lease = Open(100, 300);
  ledger_.Drain(lease, kLedgerStart + Duration::Seconds(1));
  EXPECT_EQ(ledger_.balance(pool_).promised, Amount(0));
  EXPECT_EQ(ledger_.balance(pool_).draining, Amount(100));
  EXPECT_EQ(ledger_.Available(pool_), Amount(900));
  EXPECT_EQ(ledger_.NextSettle(), kLedgerStart + Duration::Seconds(1));
  EXPECT_TRUE(Settle(kLedgerStart).empty());
  ledger_.DrainUntil(lease, kLedgerStart + Duration::Seconds(2));
  EXPECT_TRUE(Settle(kLedgerStart + Duration::Seconds(1)).empty());
  EXPECT_EQ(Settle(kLedgerStart + Duration::Seconds(2)), std::vector<PoolId>{pool_});
  EXPECT_EQ(ledger_.Available(pool_), Amount(1000));
  EXPECT_EQ(ledger_.leases(), 0);
  EXPECT_EQ(ledger_.NextSettle(), Instant::Never());
}

TEST_F(MemoryLedgerTest, UseBeyondTheLeasesIsAnOverdraftOutsideTheDeadBand) {
  Open(500, 600);
  ledger_.RememberHeld(kLedgerStart);
  ledger_.Report(pool_, Used(515, kLedgerStart));
  EXPECT_EQ(ledger_.balance(pool_).overdraft, Amount(0)) << "2 % of capacity are rounding";
  ledger_.Report(pool_, Used(560, kLedgerStart));
  EXPECT_EQ(ledger_.balance(pool_).overdraft, Amount(40));
  EXPECT_EQ(ledger_.balance(pool_).overdrafts, 1);
  EXPECT_EQ(ledger_.Available(pool_), Amount(960));
}

TEST_F(MemoryLedgerTest, ReportIsComparedWithTheMomentItWasSampled) {
  ledger_.RememberHeld(kLedgerStart);
  Open(500, 600);
  ledger_.RememberHeld(kLedgerStart + Duration::Milliseconds(100));
  ledger_.Report(pool_, Used(0, kLedgerStart));
  ledger_.Report(pool_, Used(300, kLedgerStart + Duration::Milliseconds(50)));
  EXPECT_EQ(ledger_.balance(pool_).overdraft, Amount(280)) << "nothing was held when it was sampled";
}

TEST_F(MemoryLedgerTest, UseByOthersOnTheEngineIsForeignAndGrows) {
  UseReport report = Used(400, kLedgerStart);
  report.others = 2;
  report.mean_remaining = 50;
  ledger_.Report(pool_, report);
  EXPECT_EQ(ledger_.balance(pool_).foreign, Amount(500)) << "what they hold and what they are expected to add";
  EXPECT_EQ(ledger_.balance(pool_).overdraft, Amount(0));
}

}  // namespace
}  // namespace penstock
