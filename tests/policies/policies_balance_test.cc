// The choices of the policies without a prefix or memory view: least_request, power_of_two, prequal, least_load.
#include <gtest/gtest.h>

#include <map>

#include "router/policies/balancers/least_load.h"
#include "router/policies/balancers/least_request.h"
#include "router/policies/balancers/power_of_two.h"
#include "router/policies/balancers/prequal.h"
#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

ReplicaId ChosenOf(const std::vector<Action>& actions) {
  const auto forward = Only<Forward>(actions);
  EXPECT_TRUE(forward.has_value());
  return forward ? forward->replica : ReplicaId(99);
}

void Close(Stepper& step, double at, uint64_t id, int64_t output = 10) {
  step.At(at, RequestClosed{RequestId(id), Outcome::kFinished, Tokens(0), Tokens(output), false});
}

TEST(LeastRequest, TheReplicaWithTheFewestInFlightWins) {
  RivalOf<LeastRequest> policy(LeastRequest::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(3));
  for (uint64_t id = 1; id <= 6; ++id) step.Arrive(1, id);  // Two each.
  Close(step, 2, 2);

  EXPECT_EQ(ChosenOf(step.Arrive(3, 7)), ReplicaId(1));
}

TEST(LeastRequest, AtEqualCountsTheOneChosenLongestAgoWins) {
  RivalOf<LeastRequest> policy(LeastRequest::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(3));
  for (uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(ChosenOf(step.Arrive(1, id)), ReplicaId(static_cast<uint32_t>(id - 1)));
    Close(step, 1, id);
  }
  EXPECT_EQ(ChosenOf(step.Arrive(2, 4)), ReplicaId(0));
}

TEST(LeastRequest, ReportsPlayNoPart) {
  RivalOf<LeastRequest> policy(LeastRequest::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  step.Report(1, 0, 1.0, 100);

  EXPECT_EQ(ChosenOf(step.Arrive(1, 1)), ReplicaId(0));
}

TEST(LeastRequest, WithChoicesOnlyThoseDrawnAreCompared) {
  RivalOf<LeastRequest> policy(LeastRequest::Options{1}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(3));
  std::map<uint32_t, int> chosen;
  for (uint64_t id = 1; id <= 300; ++id) ++chosen[ChosenOf(step.Arrive(1, id)).value()];
  // One drawn is no comparison: all are hit, not evenly.
  EXPECT_EQ(chosen.size(), 3u);
  EXPECT_FALSE(chosen[0] == 100 && chosen[1] == 100);
}

TEST(PowerOfTwo, OfTwoReplicasTheOneThatReportedFewerKvTokensWins) {
  RivalOf<PowerOfTwo> policy(PowerOfTwo::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  step.Report(1, 0, 0.2, 0);
  step.Report(1, 1, 0.1, 50);

  for (uint64_t id = 1; id <= 20; ++id) EXPECT_EQ(ChosenOf(step.Arrive(1, id)), ReplicaId(1));
}

TEST(PowerOfTwo, KvTokensNotSharesAreComparedWhereMemoriesDiffer) {
  RivalOf<PowerOfTwo> policy(PowerOfTwo::Options{}, 1);
  Stepper step(policy);
  Fleet fleet = SmallFleet(2);
  fleet.pools[1].capacity = Amount(100'000);
  step.Start(fleet);
  step.Report(1, 0, 0.2, 0);
  step.Report(1, 1, 0.1, 0);

  for (uint64_t id = 1; id <= 20; ++id) EXPECT_EQ(ChosenOf(step.Arrive(1, id)), ReplicaId(0));
}

TEST(PowerOfTwo, WithoutAReportOfBothRequestsInFlightAreCompared) {
  RivalOf<PowerOfTwo> policy(PowerOfTwo::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  step.Report(1, 0, 0.0, 0);
  const ReplicaId first = ChosenOf(step.Arrive(1, 1));

  EXPECT_NE(ChosenOf(step.Arrive(1, 2)), first);
}

TEST(PowerOfTwo, ByRequestsReportsPlayNoPart) {
  RivalOf<PowerOfTwo> policy(PowerOfTwo::Options{2, true}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  step.Report(1, 0, 0.0, 0);
  step.Report(1, 1, 0.9, 0);
  const ReplicaId first = ChosenOf(step.Arrive(1, 1));

  EXPECT_NE(ChosenOf(step.Arrive(1, 2)), first);
}

TEST(PowerOfTwo, OnlyTheTwoDrawnAreCompared) {
  RivalOf<PowerOfTwo> policy(PowerOfTwo::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(3));
  for (uint32_t i = 0; i < 3; ++i) step.Report(1, i, 0.1 * (i + 1), 0);
  std::map<uint32_t, int> chosen;
  for (uint64_t id = 1; id <= 300; ++id) ++chosen[ChosenOf(step.Arrive(1, id)).value()];
  // The emptiest is drawn two times in three; the fullest never wins.
  EXPECT_NEAR(chosen[0], 200, 40);
  EXPECT_EQ(chosen[2], 0);
}

class PrequalTest : public ::testing::Test {
 protected:
  // Every request probes both replicas, so that the pool is always complete and as old as the last arrival.
  explicit PrequalTest(double q_rif = 0.84) : policy_(Prequal::Options{q_rif, 2, 16, false}, 1) {
    step_.Start(SmallFleet(2));
  }
  // One finished request that took `seconds` on whatever replica it went to.
  ReplicaId Serve(double at, uint64_t id, double on_first, double on_second) {
    const ReplicaId chosen = ChosenOf(step_.Arrive(at, id));
    Close(step_, at + (chosen == ReplicaId(0) ? on_first : on_second), id);
    return chosen;
  }
  RivalOf<Prequal> policy_;
  Stepper step_{policy_};
};

TEST_F(PrequalTest, AmongColdReplicasTheLowestLatencyWins) {
  int to_fast = 0;
  for (uint64_t id = 1; id <= 60; ++id) {
    const ReplicaId chosen = Serve(static_cast<double>(id) * 0.9, id, 0.8, 0.1);
    if (id > 20 && chosen == ReplicaId(1)) ++to_fast;
  }
  EXPECT_GE(to_fast, 38);  // 40 requests in all.
}

TEST_F(PrequalTest, AHotReplicaIsLeftForAColdSlowOne) {
  for (uint64_t id = 1; id <= 60; ++id) Serve(static_cast<double>(id) * 0.9, id, 0.8, 0.1);
  std::map<uint32_t, int> chosen;
  // A burst that does not end: the fast one grows hot, the other takes its share.
  for (uint64_t id = 100; id < 140; ++id) ++chosen[ChosenOf(step_.Arrive(60 + id * 0.001, id)).value()];
  EXPECT_GE(chosen[0], 10);
  EXPECT_GE(chosen[1], 10);
}

TEST_F(PrequalTest, WithoutRecentProbesTheReplicaIsDrawn) {
  std::map<uint32_t, int> chosen;
  // Slow on the first replica, but every probe is older than a second when the next request comes.
  for (uint64_t id = 1; id <= 200; ++id) ++chosen[Serve(static_cast<double>(id) * 2, id, 0.8, 0.1).value()];
  EXPECT_NEAR(chosen[0], 100, 30);
}

class PrequalByRif : public PrequalTest {
 protected:
  PrequalByRif() : PrequalTest(0) {}
};

TEST_F(PrequalByRif, AQuantileOfZeroMakesEveryReplicaHotSoTheFewestInFlightWin) {
  std::map<uint32_t, int> chosen;
  for (uint64_t id = 1; id <= 40; ++id) ++chosen[ChosenOf(step_.Arrive(1 + id * 0.001, id)).value()];
  EXPECT_NEAR(chosen[0], 20, 2);
}

class LeastLoadTest : public ::testing::Test {
 protected:
  LeastLoadTest() { step_.Start(SmallFleet(2)); }
  RivalOf<LeastLoad> policy_{LeastLoad::Options{}};
  Stepper step_{policy_};
};

TEST_F(LeastLoadTest, QueuedAndSentTokensOverThroughputPlusTheKvBarrierDecide) {
  // 0: 2 waiting x 1024 / 2000 = 1.024 s. 1: 0.15 x 0.87/0.13 = 1.004 s.
  step_.Report(1, 0, 0.0, 2);
  step_.Report(1, 1, 0.87, 0);
  EXPECT_EQ(ChosenOf(step_.Arrive(1, 1, 100)), ReplicaId(1));
  // Its 100 tokens add 0.05 s there.
  EXPECT_EQ(ChosenOf(step_.Arrive(1, 2, 100)), ReplicaId(0));
}

TEST_F(LeastLoadTest, WhatWasSentCountsUntilTheNextReport) {
  step_.Report(1, 0, 0.1, 0);
  step_.Report(1, 1, 0.11, 0);
  EXPECT_EQ(ChosenOf(step_.Arrive(1, 1, 4000)), ReplicaId(0));
  EXPECT_EQ(ChosenOf(step_.Arrive(1, 2, 100)), ReplicaId(1));
  step_.Report(1.25, 0, 0.1, 0);
  step_.Report(1.25, 1, 0.11, 0);
  EXPECT_EQ(ChosenOf(step_.Arrive(1.3, 3, 100)), ReplicaId(0));
}

TEST_F(LeastLoadTest, AFasterReplicaDrainsTheSameTokensSooner) {
  step_.Report(1, 0, 0.1, 0);
  step_.Report(1, 1, 0.1, 0);
  for (uint64_t id = 1; id <= 2; ++id) {
    step_.Arrive(1, id);
    step_.At(1.1, FirstToken{RequestId(id)});
  }
  // One stream each: 100 tokens/s on the first, 4000 on the second.
  step_.At(
      1.9,
      Progress{{{ReplicaId(0), 100, Instant::FromSeconds(1.9)}, {ReplicaId(1), 4000, Instant::FromSeconds(1.9)}}, {}});
  step_.Report(2, 0, 0.1, 1);
  step_.Report(2, 1, 0.1, 10);

  EXPECT_EQ(ChosenOf(step_.Arrive(2, 3)), ReplicaId(1));
}

TEST_F(LeastLoadTest, AReplicaAtTheVetoIsPassedOverUnlessAllAre) {
  step_.Report(1, 0, 0.9, 0);
  step_.Report(1, 1, 0.1, 100);
  EXPECT_EQ(ChosenOf(step_.Arrive(1, 1)), ReplicaId(1));
  step_.Report(2, 1, 0.95, 0);
  EXPECT_EQ(ChosenOf(step_.Arrive(2, 2)), ReplicaId(0));
}

TEST_F(LeastLoadTest, BeforeAnyReportTheFewestInFlightWin) {
  const ReplicaId first = ChosenOf(step_.Arrive(0.1, 1, 5000));
  EXPECT_NE(ChosenOf(step_.Arrive(0.1, 2, 10)), first);
  Close(step_, 0.2, 1);
  EXPECT_EQ(ChosenOf(step_.Arrive(0.3, 3)), first);
}

}  // namespace
}  // namespace penstock
