#include "backends/simulated/machine/gpu_share.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Instant At(double ms) { return Instant::FromSeconds(ms * 1e-3); }
StepWork Work(double ms) { return {Duration::Seconds(ms * 1e-3), 1, 0}; }
GpuShare::StepEnd End(int replica, double ms) { return {replica, At(ms)}; }

TEST(GpuShare, AStepAloneTakesItsTime) {
  GpuShare share;
  const int replica = share.AddReplica({share.AddGpu(Sharing::kTimeSlicing)});
  std::vector<GpuShare::StepEnd> moved;
  share.Begin(replica, Work(10), At(5), moved);
  EXPECT_THAT(moved, ElementsAre(End(replica, 15)));
}

TEST(GpuShare, TwoBusyReplicasTakeTwiceAsLong) {
  GpuShare share;
  const int gpu = share.AddGpu(Sharing::kTimeSlicing);
  const int a = share.AddReplica({gpu});
  const int b = share.AddReplica({gpu});
  std::vector<GpuShare::StepEnd> moved;
  share.Begin(a, Work(10), At(0), moved);
  moved.clear();
  share.Begin(b, Work(10), At(0), moved);
  EXPECT_THAT(moved, UnorderedElementsAre(End(a, 20), End(b, 20)));
}

TEST(GpuShare, ANeighbourThatStartsInTheMiddleSlowsOnlyTheRest) {
  GpuShare share;
  const int gpu = share.AddGpu(Sharing::kTimeSlicing);
  const int a = share.AddReplica({gpu});
  const int b = share.AddReplica({gpu});
  std::vector<GpuShare::StepEnd> moved;
  share.Begin(a, Work(10), At(0), moved);
  moved.clear();
  share.Begin(b, Work(10), At(4), moved);
  EXPECT_THAT(moved, UnorderedElementsAre(End(a, 16), End(b, 24)));
  moved.clear();
  share.End(a, At(16), moved);
  EXPECT_THAT(moved, ElementsAre(End(b, 20))) << "it did 6 ms of its work beside the other and does 4 alone";
  EXPECT_EQ(share.EndOf(a), Instant::Never());
}

TEST(GpuShare, ReplicasOnDifferentGpusDoNotMeet) {
  GpuShare share;
  const int a = share.AddReplica({share.AddGpu(Sharing::kTimeSlicing)});
  const int b = share.AddReplica({share.AddGpu(Sharing::kTimeSlicing)});
  std::vector<GpuShare::StepEnd> moved;
  share.Begin(a, Work(10), At(0), moved);
  share.Begin(b, Work(10), At(0), moved);
  EXPECT_THAT(moved, ElementsAre(End(a, 10), End(b, 10)));
}

TEST(GpuShare, AReplicaOnTwoGpusGoesAtThePaceOfTheSlower) {
  GpuShare share;
  const int first = share.AddGpu(Sharing::kTimeSlicing);
  const int second = share.AddGpu(Sharing::kTimeSlicing);
  const int wide = share.AddReplica({first, second});
  const int a = share.AddReplica({second});
  const int b = share.AddReplica({second});
  std::vector<GpuShare::StepEnd> moved;
  share.Begin(a, Work(30), At(0), moved);
  share.Begin(b, Work(30), At(0), moved);
  share.Begin(wide, Work(10), At(0), moved);
  EXPECT_EQ(share.EndOf(wide), At(30));
}

TEST(GpuShare, TheWorkOfAGpuIsConserved) {
  std::mt19937_64 random(7);
  GpuShare share;
  const int gpu = share.AddGpu(Sharing::kTimeSlicing);
  std::vector<int> replicas;
  for (int i = 0; i < 4; ++i) replicas.push_back(share.AddReplica({gpu}));
  std::vector<GpuShare::StepEnd> moved;
  double work_ms = 0;
  for (const int replica : replicas) {
    const double ms = 1 + static_cast<double>(random() % 50);
    work_ms += ms;
    share.Begin(replica, Work(ms), At(0), moved);
  }
  Instant last;
  for (size_t i = 0; i < replicas.size(); ++i) {
    const int next = *std::min_element(replicas.begin(), replicas.end(),
                                       [&](int a, int b) { return share.EndOf(a) < share.EndOf(b); });
    last = share.EndOf(next);
    share.End(next, last, moved);
  }
  EXPECT_NEAR(last.seconds() * 1e3, work_ms, 1e-3);
}

TEST(GpuShare, MpsCapsAreTheMeasuredOnes) {
  EXPECT_DOUBLE_EQ(MpsCap(1, 0), 1);
  EXPECT_DOUBLE_EQ(MpsCap(0.5, 0), 1.19);
  EXPECT_DOUBLE_EQ(MpsCap(0.5, 1), 1.62);
  EXPECT_NEAR(MpsCap(0.35, 0), 1.46, 1e-9);
  EXPECT_GT(MpsCap(0.1, 1), MpsCap(0.3, 1));
}

TEST(GpuShare, UnderMpsTheBandwidthAskedForBoundsThePace) {
  GpuShare share;
  const int gpu = share.AddGpu(Sharing::kMps);
  const int a = share.AddReplica({gpu});
  const int b = share.AddReplica({gpu});
  std::vector<GpuShare::StepEnd> moved;
  share.Begin(a, {Duration::Milliseconds(100), 0.9, 0}, At(0), moved);
  EXPECT_EQ(share.EndOf(a), At(119));
  share.Begin(b, {Duration::Milliseconds(100), 0.6, 0}, At(0), moved);
  EXPECT_EQ(share.EndOf(a), At(150));
  EXPECT_EQ(share.EndOf(b), At(150));
}

TEST(GpuShare, AnEarlyEndReleasesTheNeighbours) {
  GpuShare share;
  const int gpu = share.AddGpu(Sharing::kTimeSlicing);
  const int a = share.AddReplica({gpu});
  const int b = share.AddReplica({gpu});
  std::vector<GpuShare::StepEnd> moved;
  share.Begin(a, Work(10), At(0), moved);
  share.Begin(b, Work(10), At(0), moved);
  moved.clear();
  share.End(b, At(10), moved);
  EXPECT_THAT(moved, ElementsAre(End(a, 15)));
  moved.clear();
  share.End(a, At(15), moved);
  EXPECT_THAT(moved, IsEmpty());
  EXPECT_EQ(share.Busy(gpu), 0);
}

TEST(WorkOf, FollowsTheStepTimeModel) {
  StepLoad load;
  load.sequences = 10;
  load.kv = Tokens(20'000);
  load.prefill = PrefillOf(Tokens(1000), Tokens(1100));
  // 100^2 + 2 x 100 x 1,000 pairs at 100 ms per million are 21 ms.
  const StepWork work = WorkOf({10, 0.1, 0.2, 0.05, 100}, load, 2);
  EXPECT_EQ(work.alone, Duration::Milliseconds(2 * 41));
  EXPECT_NEAR(work.memory_share, 14.0 / 41, 1e-12);
  EXPECT_NEAR(work.prefill_share, (5.0 + 21) / 41, 1e-12);
}

}  // namespace
}  // namespace penstock::simulated
