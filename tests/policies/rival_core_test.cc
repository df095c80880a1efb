#include "router/policies/kit/rival_core.h"

#include <gtest/gtest.h>

#include <set>

#include "base/generator.h"
#include "router/policies/balancers/round_robin.h"
#include "router/policies/gates/threshold_gate.h"
#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

// A gate that is closed until a report opens it.
class RivalCoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    step_.Start(SmallFleet(2));
    Close(0);
  }
  void Close(double at) {
    step_.Report(at, 0, 0.9, 0);
    step_.Report(at, 1, 0.9, 0);
  }
  Refusal ReasonOf(const std::vector<Action>& actions) {
    const auto refusal = Only<Refuse>(actions);
    EXPECT_TRUE(refusal.has_value());
    return refusal ? refusal->reason : Refusal::kInvalidKey;
  }
  RivalOf<ThresholdGate> gate_;
  Stepper step_{gate_};
};

TEST_F(RivalCoreTest, WhatCanNeverRunIsRefusedAtOnce) {
  EXPECT_EQ(ReasonOf(step_.Arrive(1, 1, 100, 0, 2)), Refusal::kUnknownModel);
  EXPECT_EQ(ReasonOf(step_.Arrive(1, 2, 9000)), Refusal::kContextExceeded);
  Fleet tiny = SmallFleet(2);
  for (PoolSpec& pool : tiny.pools) pool.capacity = Amount(1000);
  step_.Start(tiny);
  EXPECT_EQ(ReasonOf(step_.Arrive(1, 4, 2000)), Refusal::kNeverFits);
}

TEST_F(RivalCoreTest, AnEstimateThatMayBeTooHighDoesNotRefuseForContext) {
  RequestArrived request = Stepper::Request(1, 8500);
  request.prompt_sigma = 0.05;

  EXPECT_TRUE(Only<Park>(step_.At(1, request)).has_value());
}

TEST_F(RivalCoreTest, RequestsWaitForAReplicaToReturnAndAreThenRefused) {
  for (uint32_t i = 0; i < 2; ++i) step_.At(1, ReplicaHealth{ReplicaId(i), Health::kDown});

  const auto parked = Only<Park>(step_.Arrive(2, 1, 100, 1));
  ASSERT_TRUE(parked.has_value());
  EXPECT_EQ(parked->reason, WaitReason::kNoReplicaUp);
  EXPECT_EQ(gate_.NextDeadline(), Instant::FromSeconds(6));
  EXPECT_EQ(ReasonOf(step_.At(6, TimerFired{})), Refusal::kNoReplica);
  EXPECT_EQ(ReasonOf(step_.Arrive(6, 2, 100, 1)), Refusal::kNoReplica);
  const auto refused = Only<Refuse>(step_.Arrive(600, 3, 100, 1));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->retry_after, Duration::Seconds(5));
}

TEST_F(RivalCoreTest, AReplicaThatReturnsInTimeServesTheWaitingRequests) {
  for (uint32_t i = 0; i < 2; ++i) step_.At(1, ReplicaHealth{ReplicaId(i), Health::kDown});
  step_.Arrive(2, 1, 100, 1);
  step_.Report(3, 0, 0.1, 0);

  const auto forward = Only<Forward>(step_.At(4, ReplicaHealth{ReplicaId(0), Health::kUp}));
  ASSERT_TRUE(forward.has_value());
  EXPECT_EQ(forward->replica, ReplicaId(0));
}

// A request that only one replica can take holds up nobody else.
class RivalCoreHome : public RivalCoreTest {
 protected:
  void SetUp() override {
    step_.Start(SmallFleet(2));
    step_.Report(0, 0, 0.1, 0);
    step_.Report(0, 1, 0.1, 0);
  }
  static RequestArrived Bound(uint64_t id, uint32_t home) {
    RequestArrived request = Stepper::Request(id, 100, 1);
    request.home = ReplicaId(home);
    return request;
  }
};

TEST_F(RivalCoreHome, WhoseHomeIsDownForGoodIsRefusedAtArrival) {
  step_.At(1, ReplicaHealth{ReplicaId(0), Health::kDown});
  EXPECT_EQ(ReasonOf(step_.At(7, Bound(1, 0))), Refusal::kNoReplica);
  EXPECT_EQ(ReasonOf(step_.At(7, Bound(2, 9))), Refusal::kNoReplica) << "an unknown home";
  EXPECT_EQ(ReasonOf(step_.At(7, Bound(3, 2))), Refusal::kNoReplica) << "it serves another model";
  EXPECT_EQ(Only<Forward>(step_.At(7, Bound(4, 1)))->replica, ReplicaId(1));
}

TEST_F(RivalCoreHome, OthersPassOneWhoseHomeIsAwaited) {
  step_.At(1, ReplicaHealth{ReplicaId(0), Health::kDown});
  for (uint64_t id : {1, 2}) EXPECT_EQ(Only<Park>(step_.At(2, Bound(id, 0)))->reason, WaitReason::kNoReplicaUp);
  const auto passed = Only<Forward>(step_.Arrive(3, 3, 100, 1));
  ASSERT_TRUE(passed.has_value());
  EXPECT_EQ(passed->replica, ReplicaId(1));

  EXPECT_EQ(gate_.NextDeadline(), Instant::FromSeconds(6));
  const std::vector<Action> refused = step_.At(6, TimerFired{});
  ASSERT_EQ(refused.size(), 2u);
  for (const Action& action : refused) EXPECT_EQ(std::get<Refuse>(action).reason, Refusal::kNoReplica);
  EXPECT_EQ(step_.View().queued_requests, 0);
  EXPECT_EQ(gate_.NextDeadline(), std::nullopt);
}

TEST_F(RivalCoreHome, AHomeThatReturnsInTimeServesItsRequests) {
  step_.At(1, ReplicaHealth{ReplicaId(0), Health::kDown});
  step_.At(2, Bound(1, 0));
  const auto forward = Only<Forward>(step_.At(4, ReplicaHealth{ReplicaId(0), Health::kUp}));
  ASSERT_TRUE(forward.has_value());
  EXPECT_EQ(forward->replica, ReplicaId(0));
}

TEST_F(RivalCoreHome, TheOneBehindItTellsWhatItsModelWaitsFor) {
  step_.At(1, ReplicaHealth{ReplicaId(0), Health::kDown});
  step_.At(2, Bound(1, 0));
  Close(2);
  EXPECT_EQ(Only<Park>(step_.Arrive(3, 2, 100, 1))->reason, WaitReason::kMemory);
  EXPECT_EQ(gate_.FindMemoryWaits(Instant::FromSeconds(3)).models, std::vector<ModelId>{ModelId(0)});
}

TEST_F(RivalCoreTest, ARequeuedRequestBeyondEveryContextStillFindsAReplica) {
  step_.Report(1, 0, 0.1, 0);
  ASSERT_TRUE(Only<Forward>(step_.Arrive(1, 1, 8000, 1)).has_value());

  EXPECT_TRUE(Only<Forward>(step_.At(2, RequestRequeued{RequestId(1), Tokens(500), false})).has_value());
}

TEST_F(RivalCoreTest, DrainingRefusesArrivalsAndServesWhatWaits) {
  step_.Arrive(1, 1);
  step_.At(1.1, ShutdownStarted{});

  EXPECT_EQ(ReasonOf(step_.Arrive(1.2, 2)), Refusal::kShuttingDown);
  EXPECT_EQ(Only<Forward>(step_.Report(1.3, 0, 0.1, 0))->request, RequestId(1));
}

TEST_F(RivalCoreTest, AFullQueueRefusesAndForgetsTheRequest) {
  Fleet fleet = SmallFleet(2);
  fleet.limits.max_queued_requests = 2;
  step_.Start(fleet);
  Close(0);
  step_.Arrive(1, 1);
  step_.Arrive(1, 2);

  const auto refusal = Only<Refuse>(step_.Arrive(1, 3));

  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, Refusal::kQueueFull);
  EXPECT_EQ(refusal->bound, 2);
  EXPECT_EQ(step_.View().queued_requests, 2);
  EXPECT_EQ(step_.View().queued_bytes, Bytes(800));
  EXPECT_EQ(gate_.WaitOf(RequestId(3)), std::nullopt);
}

TEST_F(RivalCoreTest, ALeaseHoldsThePromptUntilTheRequestCloses) {
  step_.Report(1, 0, 0.0, 0);
  step_.Arrive(1, 1, 100);

  CoreView view = step_.View();
  EXPECT_EQ(view.pools[0].promised, Amount(112));  // Whole blocks of 16.
  EXPECT_EQ(view.pools[0].held, Amount(112));
  EXPECT_EQ(view.replicas[0].running, 1);
  EXPECT_EQ(view.replicas[0].prefilling, 1);

  step_.At(1.2, FirstToken{RequestId(1)});
  EXPECT_EQ(step_.View().replicas[0].prefilling, 0);

  step_.At(2, RequestClosed{RequestId(1), Outcome::kFinished, Tokens(100), Tokens(5), false});
  view = step_.View();
  EXPECT_EQ(view.pools[0].promised, Amount(0));
  EXPECT_EQ(view.replicas[0].running, 0);
}

TEST_F(RivalCoreTest, ARequestThatLeavesTheQueueIsForgotten) {
  step_.Arrive(1, 1);
  step_.At(1.1, RequestClosed{RequestId(1), Outcome::kClientGone, Tokens(0), Tokens(0), false});

  EXPECT_EQ(step_.View().queued_requests, 0);
  EXPECT_EQ(gate_.NextDeadline(), std::nullopt);
  EXPECT_TRUE(step_.Report(1.2, 0, 0.1, 0).empty());
}

TEST_F(RivalCoreTest, AReturnedRequestGoesElsewhereUnderItsOldArrival) {
  step_.Report(1, 0, 0.1, 0);
  step_.Report(1, 1, 0.2, 0);
  ASSERT_EQ(Only<Forward>(step_.Arrive(1, 1))->replica, ReplicaId(0));

  const auto again = Only<Forward>(step_.At(1.5, RequestRequeued{RequestId(1), Tokens(0), true}));

  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->replica, ReplicaId(1));
  EXPECT_EQ(again->waited, Duration::Seconds(0.5));
  EXPECT_EQ(step_.View().pools[0].promised, Amount(0));
}

TEST_F(RivalCoreTest, WhatWasGeneratedCountsOnceHoweverOftenARequestReturns) {
  step_.Report(1, 0, 0.1, 0);
  step_.Report(1, 1, 0.2, 0);
  step_.Arrive(1, 1, 100);
  step_.At(1.2, RequestRequeued{RequestId(1), Tokens(20), false});
  EXPECT_EQ(step_.View().pools[0].held, Amount(128));  // 120 tokens in blocks of 16.

  step_.At(1.4, RequestRequeued{RequestId(1), Tokens(40), false});
  EXPECT_EQ(step_.View().pools[0].held, Amount(144));  // 140 tokens.
}

TEST_F(RivalCoreTest, AProbingReplicaGetsOneRequestAtATime) {
  step_.At(1, ReplicaHealth{ReplicaId(0), Health::kProbing});
  step_.At(1, ReplicaHealth{ReplicaId(1), Health::kDown});
  step_.Report(1, 0, 0.0, 0);

  EXPECT_TRUE(Only<Forward>(step_.Arrive(1, 1)).has_value());
  EXPECT_EQ(Only<Park>(step_.Arrive(1, 2))->reason, WaitReason::kNoReplicaUp);
  const auto next = step_.At(1.2, RequestClosed{RequestId(1), Outcome::kFinished, Tokens(100), Tokens(5), false});
  EXPECT_EQ(Only<Forward>(next)->request, RequestId(2));
}

TEST_F(RivalCoreTest, LanesOfTheViewCountByModelAndClass) {
  step_.Arrive(1, 1);
  step_.Arrive(1.5, 2, 100, 1);

  const CoreView view = step_.View();

  ASSERT_EQ(view.lanes.size(), 2u);
  EXPECT_EQ(view.lanes[0].model, "chat");
  EXPECT_EQ(view.lanes[0].service_class, "interactive");
  EXPECT_EQ(view.lanes[0].waiting, 1);
  EXPECT_EQ(view.lanes[0].oldest_wait, Duration::Seconds(0.5));
  EXPECT_EQ(view.lanes[1].service_class, "batch");
}

TEST_F(RivalCoreTest, EventsAboutUnknownRequestsAreVoid) {
  EXPECT_TRUE(step_.At(1, FirstToken{RequestId(9)}).empty());
  EXPECT_TRUE(step_.At(1, RequestClosed{RequestId(9), Outcome::kFinished, Tokens(1), Tokens(1), false}).empty());
  EXPECT_TRUE(step_.At(1, RequestRequeued{RequestId(9), Tokens(0), true}).empty());
}

// Every arrival is answered once in its own event, every parked request once later, and nothing stays behind.
template <class Policy>
void RandomRun(uint64_t seed) {
  bench::Generator random(seed);
  Policy policy;
  Stepper step(policy);
  step.Start(SmallFleet(3));
  std::set<uint64_t> live, parked;
  const auto take = [&](const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const auto* forward = std::get_if<Forward>(&action)) {
        parked.erase(forward->request.value());
        ASSERT_TRUE(live.insert(forward->request.value()).second);
      } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
        parked.erase(refuse->request.value());
      } else if (const auto* park = std::get_if<Park>(&action)) {
        ASSERT_TRUE(parked.insert(park->request.value()).second);
      }
    }
  };
  double now = 1;
  for (uint64_t id = 1; id <= 3000; ++id) {
    now += random.Exponential(0.05);
    if (policy.NextDeadline() && *policy.NextDeadline() <= Instant::FromSeconds(now)) take(step.At(now, TimerFired{}));
    take(step.Arrive(now, id, 1 + static_cast<int64_t>(random.Uniform() * 7000), random.Next() % 2, random.Next() % 2));
    take(step.Report(now, random.Next() % 4, random.Uniform(), static_cast<int>(random.Next() % 8)));
    if (!live.empty() && random.Uniform() < 0.7) {
      const uint64_t gone = *live.begin();
      live.erase(live.begin());
      take(random.Uniform() < 0.2
               ? step.At(now, RequestRequeued{RequestId(gone), Tokens(0), true})
               : step.At(now, RequestClosed{RequestId(gone), Outcome::kFinished, Tokens(1), Tokens(1), false}));
    }
    // A returned request that waits again is parked without an action.
    for (uint64_t waiting = 1; waiting <= id; ++waiting) {
      if (id % 500 == 0 && policy.WaitOf(RequestId(waiting))) parked.insert(waiting);
    }
  }
  take(step.At(now + 100, TimerFired{}));
  for (uint64_t id : live) step.At(now + 101, RequestClosed{RequestId(id), Outcome::kClientGone, {}, {}, false});
  EXPECT_EQ(step.View().queued_requests, 0) << "seed " << seed;
  EXPECT_EQ(policy.NextDeadline(), std::nullopt) << "seed " << seed;
  for (const PoolView& pool : step.View().pools) EXPECT_EQ(pool.promised, Amount(0)) << "seed " << seed;
}

TEST(RivalCoreRandom, NothingIsLostOrLeaked) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    RandomRun<RivalOf<ThresholdGate>>(seed);
    RandomRun<RivalOf<RoundRobin>>(seed);
  }
}

}  // namespace
}  // namespace penstock
