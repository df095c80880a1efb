#include "bench/simulation/engines/gpu_accounts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace penstock::bench {
namespace {

// Two GPUs with a replica of model 0 each; a third replica, of model 1, is on GPU 1.
class GpuAccountsTest : public ::testing::Test {
 protected:
  GpuAccountsTest() {
    fleet_.models.resize(2);
    fleet_.replicas.resize(3);
    for (const size_t replica : {0, 1}) fleet_.replicas[replica].models = {ModelId(0)};
    fleet_.replicas[2].models = {ModelId(1)};
    accounts_.emplace(fleet_, std::vector<std::vector<int>>{{0}, {1}, {1}}, 2, Duration::Seconds(100));
  }
  double Seconds(size_t gpu, GpuState state) const { return accounts_->seconds(gpu)[static_cast<size_t>(state)]; }
  static Instant At(double seconds) { return Instant::FromSeconds(seconds); }

  Fleet fleet_;
  std::optional<GpuAccounts> accounts_;
};

TEST_F(GpuAccountsTest, AWaitingRequestBlocksItsModelsGpusOnly) {
  accounts_->ChangeWaiting(ModelId(1), 1, At(10));
  accounts_->ChangeWaiting(ModelId(1), -1, At(14));
  accounts_->SettleAll(At(20));
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kBlocked), 4);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kElsewhere), 4);
  EXPECT_DOUBLE_EQ(Seconds(0, GpuState::kIdle), 16);
}

TEST_F(GpuAccountsTest, AGpuIsSlowOnlyWhileAllItsStepsAre) {
  accounts_->SetStepping(1, true, true, At(0));
  accounts_->SetStepping(2, true, false, At(3));
  accounts_->SetStepping(2, false, false, At(5));
  accounts_->SettleAll(At(6));
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kSlow), 4);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kProductive), 2);
}

TEST_F(GpuAccountsTest, AGpuIsDownOnlyWhenAllItsReplicasAre) {
  accounts_->SetDown(1, true, At(1));
  accounts_->SetDown(2, true, At(4));
  accounts_->SetDown(1, false, At(6));
  accounts_->SettleAll(At(8));
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kDown), 2);
  EXPECT_DOUBLE_EQ(Seconds(1, GpuState::kIdle), 6);
}

TEST_F(GpuAccountsTest, EverySecondOfTheWindowHasExactlyOneState) {
  constexpr uint64_t kSeed = 21;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  std::array<int, 2> waiting = {0, 0};
  double now = 0;
  while (now < 130) {
    now += static_cast<double>(random() % 1000) / 1000;
    const size_t replica = random() % 3;
    const bool on = random() % 2 == 0;
    switch (random() % 4) {
      case 0:
        accounts_->SetStepping(replica, on, random() % 2 == 0, At(now));
        break;
      case 1:
        accounts_->SetAsleep(replica, on, At(now));
        break;
      case 2:
        accounts_->SetDown(replica, on, At(now));
        break;
      default:
        const size_t model = random() % 2;
        const int change = on || waiting[model] == 0 ? 1 : -1;
        waiting[model] += change;
        accounts_->ChangeWaiting(ModelId(static_cast<uint32_t>(model)), change, At(now));
    }
  }
  accounts_->SettleAll(At(now));
  for (size_t gpu = 0; gpu < accounts_->gpus(); ++gpu) {
    const auto& seconds = accounts_->seconds(gpu);
    EXPECT_NEAR(std::accumulate(seconds.begin(), seconds.end(), 0.0), 100, 1e-6) << "time after the window is left out";
  }
}

}  // namespace
}  // namespace penstock::bench
