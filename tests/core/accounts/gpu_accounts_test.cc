#include "router/core/accounts/gpu_accounts.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock {
namespace {

// Two GPUs with a replica of model 0 each; a third replica, of model 1, is on GPU 1.
class GpuAccountsTest : public ::testing::Test {
 protected:
  GpuAccountsTest() { accounts_.Place(places_, 2, Instant()); }
  double Seconds(size_t gpu, GpuState state) const { return accounts_.time(gpu)[state]; }
  static Instant At(double seconds) { return Instant::FromSeconds(seconds); }

  std::vector<ReplicaPlace> places_ = {{{0}, {ModelId(0)}}, {{1}, {ModelId(0)}}, {{1}, {ModelId(1)}}};
  GpuAccounts accounts_{At(100)};
};

TEST_F(GpuAccountsTest, AWaitingRequestBlocksItsModelsGpusOnly) {
  accounts_.ChangeWaiting(ModelId(1), 1, At(10));
  accounts_.ChangeWaiting(ModelId(1), -1, At(14));
  accounts_.SettleAll(At(20));
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kWaiting), 4);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kElsewhere), 4);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kIdle), 16);
  EXPECT_DOUBLE_EQ(accounts_.time(0).waiting_for_input(), 20);
}

TEST_F(GpuAccountsTest, TheRequestsOfAllReplicasOfAGpuDivideItsTimeEvenly) {
  accounts_.SetWork(1, {.on_time = 1, .late = 1}, At(0));
  accounts_.SetWork(2, {.on_time = 1, .for_nobody = 1}, At(0));
  accounts_.ChangeWaiting(ModelId(0), 1, At(2));
  accounts_.SettleAll(At(8));
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kProductive), 4);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kSlow), 2);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kForNobody), 2);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kWaiting), 0) << "it works";
}

TEST_F(GpuAccountsTest, OnlyAWaitForMemoryBlocksAGpu) {
  accounts_.ChangeWaiting(ModelId(1), 1, At(2));
  accounts_.SetMemoryWaits({ModelId(1)}, At(5));
  accounts_.SetMemoryWaits({}, At(9));
  accounts_.SettleAll(At(10));
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kBlocked), 4);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kWaiting), 4);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kIdle), 2);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kElsewhere), 8);
  EXPECT_DOUBLE_EQ(accounts_.time(1).waiting_for_input(), 10);
}

TEST_F(GpuAccountsTest, AGpuThatWorksIsFullWhileOthersWaitForItsMemory) {
  accounts_.SetWork(1, {.on_time = 3, .late = 1}, At(0));
  accounts_.ChangeWaiting(ModelId(0), 1, At(2));
  accounts_.SetMemoryWaits({ModelId(0)}, At(2));
  accounts_.ChangeWaiting(ModelId(0), -1, At(6));  // The sample that would tell comes later.
  accounts_.SettleAll(At(10));
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kFull), 3);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kSlow), 2.5) << "late work is late, whatever waits";
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kProductive), 4.5);
  EXPECT_DOUBLE_EQ(accounts_.time(1).short_of_memory(), 3);
  EXPECT_DOUBLE_EQ(accounts_.time(1).productive_hours() * 3600, 7.5) << "work on time is productive";
}

TEST_F(GpuAccountsTest, AModelThatNobodyWaitsForIsNotShortOfMemory) {
  accounts_.SetWork(0, {.on_time = 1}, At(0));
  accounts_.SetMemoryWaits({ModelId(0), ModelId(77)}, At(1));
  accounts_.SettleAll(At(4));
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kFull), 0);
}

TEST_F(GpuAccountsTest, AChangeOfTheFleetKeepsTheShortage) {
  accounts_.SetWork(0, {.on_time = 1}, At(0));
  accounts_.ChangeWaiting(ModelId(0), 1, At(1));
  accounts_.SetMemoryWaits({ModelId(0)}, At(1));
  accounts_.Place(places_, 3, At(5));
  accounts_.SettleAll(At(8));
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kFull), 7);
}

TEST_F(GpuAccountsTest, AReplicaThatSleepsOrIsDownRunsNothing) {
  accounts_.SetWork(0, {.on_time = 3}, At(0));
  accounts_.SetAsleep(0, true, At(1));
  accounts_.SetDown(0, true, At(3));
  accounts_.SetDown(0, false, At(6));
  accounts_.SetAsleep(0, false, At(6));
  accounts_.SettleAll(At(10));
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kProductive), 5);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kAsleep), 2);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kDown), 3);
}

TEST_F(GpuAccountsTest, AGpuIsDownOnlyWhenAllItsReplicasAre) {
  accounts_.SetDown(1, true, At(1));
  accounts_.SetDown(2, true, At(4));
  accounts_.SetDown(1, false, At(6));
  accounts_.SettleAll(At(8));
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kDown), 2);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kIdle), 6);
}

TEST_F(GpuAccountsTest, ADemandForASleepingModelBlocksItsGpu) {
  accounts_.SetAsleep(0, true, At(0));
  accounts_.ChangeWaiting(ModelId(0), 1, At(3));
  accounts_.SettleAll(At(5));
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kAsleep), 3);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kWaiting), 2);
}

TEST_F(GpuAccountsTest, AGpuCountsWhileAReplicaOfTheFleetIsOnIt) {
  accounts_.SetPrice(0, 7200, At(0));
  places_[0].gpus.clear();
  accounts_.Place(places_, 2, At(10));
  places_[0].gpus = {0};
  places_.push_back({{2}, {ModelId(0)}});
  accounts_.Place(places_, 2, At(30));
  accounts_.SettleAll(At(31));
  EXPECT_DOUBLE_EQ(accounts_.time(0).total(), 11);
  EXPECT_DOUBLE_EQ(accounts_.time(0).cost, 22);
  EXPECT_DOUBLE_EQ(accounts_.time(2).total(), 1);
}

TEST_F(GpuAccountsTest, TheTimeOfAPlaceThatWasGivenUpIsNoLongerItsOwn) {
  accounts_.SetPrice(0, 3600, At(0));
  places_[0].gpus.clear();
  accounts_.Place(places_, 2, At(10));
  accounts_.Vacate(0, At(10));
  EXPECT_DOUBLE_EQ(accounts_.gone().total(), 10);
  EXPECT_DOUBLE_EQ(accounts_.gone().cost, 10);
  places_[0].gpus = {0};
  accounts_.Place(places_, 2, At(20));
  accounts_.SettleAll(At(25));
  EXPECT_DOUBLE_EQ(accounts_.time(0).total(), 5);
  EXPECT_DOUBLE_EQ(accounts_.time(0).cost, 0) << "the price was that of the other GPU";
}

TEST_F(GpuAccountsTest, DemandIsCountedForGpusThatNothingElseTouches) {
  // Requests wait for model 0 from 1 to 3 and from 6 on, and for model 1 from 2 to 4.
  accounts_.ChangeWaiting(ModelId(0), 2, At(1));
  accounts_.ChangeWaiting(ModelId(1), 1, At(2));
  accounts_.ChangeWaiting(ModelId(0), -2, At(3));
  accounts_.ChangeWaiting(ModelId(1), -1, At(4));
  accounts_.ChangeWaiting(ModelId(0), 1, At(6));
  accounts_.SetWork(1, {.on_time = 1}, At(8));
  accounts_.Place(places_, 2, At(9));
  accounts_.ChangeWaiting(ModelId(0), -1, At(110));
  accounts_.SettleAll(At(120));
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kWaiting), 2 + 94) << "time after 100 does not count";
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kElsewhere), 1);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kIdle), 3);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kWaiting), 3 + 2);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kIdle), 3);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kProductive), 92);
}

TEST_F(GpuAccountsTest, ANewPriceCountsFromThenOn) {
  accounts_.SetPrice(0, 3600, At(0));
  accounts_.SetPrice(0, 36, At(10));
  accounts_.SettleAll(At(20));
  EXPECT_DOUBLE_EQ(accounts_.time(0).cost, 10.1);
}

TEST_F(GpuAccountsTest, TheStatesAddUpToWallTimeWhateverHappens) {
  for (const uint64_t seed : {21, 22, 23, 24}) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    GpuAccounts accounts(At(100));
    accounts.Place(places_, 2, Instant());
    std::mt19937_64 random(seed);
    std::array<int, 2> waiting = {0, 0};
    double now = 0;
    while (now < 130) {
      now += static_cast<double>(random() % 1000) / 1000;
      const size_t replica = random() % 3;
      const bool on = random() % 2 == 0;
      const auto some = [&] { return static_cast<int64_t>(random() % 3); };
      switch (random() % 4) {
        case 0:
          accounts.SetWork(replica, {.on_time = some(), .late = some(), .for_nobody = some()}, At(now));
          break;
        case 1:
          accounts.SetAsleep(replica, on, At(now));
          break;
        case 2:
          accounts.SetDown(replica, on, At(now));
          break;
        default:
          const size_t model = random() % 2;
          const int change = on || waiting[model] == 0 ? 1 : -1;
          waiting[model] += change;
          accounts.ChangeWaiting(ModelId(static_cast<uint32_t>(model)), change, At(now));
      }
    }
    accounts.SettleAll(At(now));
    for (size_t gpu = 0; gpu < accounts.gpus(); ++gpu) {
      EXPECT_NEAR(accounts.time(gpu).total(), 100, 1e-6) << "time after the window is left out";
    }
  }
}

}  // namespace
}  // namespace penstock
