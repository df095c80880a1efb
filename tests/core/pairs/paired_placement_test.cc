// The choice between two stages and one, and the tries of a request that finds neither.
#include "router/core/pairs/paired_placement.h"

#include <gmock/gmock.h>

#include "tests/core/pairs/pair_fleet.h"

namespace penstock::testing {
namespace {

TEST(PairedPlacement, ADecodeReplicaComputesThePromptBehindALongLine) {
  CoreStepper stepper(PairFleet());
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_NE(Only<Forward>(stepper.Arrive(id, 5000)), nullptr) << id;
  const std::vector<Action> actions = stepper.Arrive(5, 5000);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr) << Text(actions);
  EXPECT_EQ(forward->replica, ReplicaId(kDecode));
  EXPECT_FALSE(forward->prefill.has_value());
  EXPECT_GT(forward->expected_ttft, Duration::Milliseconds(250));
}

TEST(PairedPlacement, ADecodeReplicaComputesThePromptThatWouldBeHandedOverTooLate) {
  Fleet fleet = PairFleet();
  for (const uint32_t id : {kPrefillA, kPrefillB}) fleet.replicas[id].prior.d = 0.3;
  CoreStepper stepper(fleet);
  for (uint64_t id = 1; id <= 2; ++id) ASSERT_TRUE(Only<Forward>(stepper.Arrive(id, 4000))->prefill.has_value()) << id;
  // Both lines are open, and either takes 2.4 s; the goal is 2 s.
  const Forward whole = *Only<Forward>(stepper.Arrive(3, 4000));
  EXPECT_EQ(whole.replica, ReplicaId(kDecode));
  EXPECT_FALSE(whole.prefill.has_value());
}

TEST(PairedPlacement, PromptsWaitInTheRouterBehindALongLine) {
  CoreStepper stepper(SlowDecodeFleet());
  // Each replica computes one, and has two steps of others behind it.
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_NE(Only<Forward>(stepper.Arrive(id, 5000)), nullptr) << id;
  const std::vector<Action> actions = stepper.Arrive(5, 5000);
  const Park* park = Only<Park>(actions);
  ASSERT_NE(park, nullptr) << Text(actions);
  EXPECT_EQ(park->reason, WaitReason::kRunway);
  stepper.Wait(Duration::Milliseconds(290));
  const std::vector<Action> after = stepper.Send(PrefillEnded{RequestId(1), true, Tokens(-1)});
  const Forward* forward = Only<Forward>(after);
  ASSERT_NE(forward, nullptr) << Text(after);
  EXPECT_EQ(forward->request, RequestId(5));
  EXPECT_EQ(forward->prefill->replica, ReplicaId(kPrefillA));
}

// Both ways are open and late for each of the prompts, so each try finds nothing.
TEST(PairedPlacement, AQueueOfPromptsThatAreLateOnBothWaysComesToRest) {
  Fleet fleet = SlowDecodeFleet();
  fleet.classes[1].refuse_late = false;
  for (const uint32_t id : {kPrefillA, kPrefillB}) fleet.replicas[id].prior.d = 0.6;
  fleet.replicas[kDecode].max_sequences = 4;
  CoreStepper stepper(fleet);
  for (uint64_t id = 1; id <= 300; ++id) stepper.Arrive(id, 4000);
  ASSERT_TRUE(stepper.core.WaitOf(RequestId(300)));
  int turns = 0;
  for (; stepper.core.NextDeadline() && *stepper.core.NextDeadline() <= stepper.now && turns < 1000; ++turns) {
    stepper.Send(TimerFired{});
  }
  EXPECT_LT(turns, 100);
}

TEST(PairedPlacement, ARequestThatWaitsForAPrefillReplicaCostsNoTimer) {
  CoreStepper stepper(SlowDecodeFleet());
  for (uint64_t id = 1; id <= 5; ++id) stepper.Arrive(id, 5000);
  ASSERT_TRUE(stepper.core.WaitOf(RequestId(5)));
  ASSERT_TRUE(stepper.core.NextDeadline());
  EXPECT_GT(*stepper.core.NextDeadline(), stepper.now + Duration::Milliseconds(10));
}

TEST(PairedPlacement, ASlowDecodeReplicaHidesNoFastOne) {
  FleetOptions options;
  options.replicas = 4;
  Fleet fleet = MakeFleet(options);
  for (const uint32_t id : {kPrefillA, kPrefillB}) {
    fleet.replicas[id].role = EngineRole::kPrefill;
    fleet.replicas[id].prior.d = 0.6;
  }
  constexpr uint32_t kSlow = 2, kFast = 3;
  for (const uint32_t id : {kSlow, kFast}) fleet.replicas[id].role = EngineRole::kDecode;
  fleet.replicas[kSlow].prior.d = 1;
  // The slow one would be the emptier one.
  fleet.pools[kSlow].capacity = Amount(2 * fleet.pools[kFast].capacity.value());
  CoreStepper stepper(fleet);
  const Forward forward = *Only<Forward>(stepper.Arrive(1, 4000));
  EXPECT_EQ(forward.replica, ReplicaId(kFast));
  EXPECT_FALSE(forward.prefill.has_value());
}

TEST(PairedPlacement, ARequestMayWaitUntilADecodeReplicaCouldComputeItsPrompt) {
  Fleet fleet = PairFleet();
  // A pair takes 1.7 s of the goal of 2 s.
  for (const uint32_t id : {kPrefillA, kPrefillB}) fleet.replicas[id].prior.d = 0.4;
  fleet.replicas[kDecode].max_sequences = 1;
  CoreStepper stepper(fleet);
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 100)), nullptr);
  stepper.Send(FirstToken{RequestId(1)});
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 4000)), nullptr);
  ASSERT_TRUE(stepper.RunTimers(stepper.now + Duration::Seconds(1.5)).empty());
  const Forward forward = *Only<Forward>(stepper.Finish(1, 10));
  EXPECT_EQ(forward.request, RequestId(2));
  EXPECT_FALSE(forward.prefill.has_value());
}

// Prompts that wait behind closed lines for memory, on more decode replicas than an event can try for all of them.
TEST(PairedPlacement, APromptThatNoEventCouldPayForIsTriedByTheNext) {
  constexpr int kDecodes = 20, kWaiting = 8;
  FleetOptions options;
  options.replicas = 3 + kDecodes;
  options.pool_tokens = 100'000;
  Fleet fleet = MakeFleet(options);
  fleet.models.push_back({"other"});
  fleet.classes[1].ttft = Duration::Seconds(4);
  for (ReplicaSpec& replica : fleet.replicas) {
    replica.role = EngineRole::kDecode;
    replica.max_context = Tokens(100'000);
  }
  for (const uint32_t id : {kPrefillA, kPrefillB}) {
    ReplicaSpec& replica = fleet.replicas[id];
    replica.role = EngineRole::kPrefill;
    replica.models = {ModelId(0), ModelId(1)};
    replica.prior.d = 0.15;
  }
  // They share one elastic pool.
  for (int i = 0; i < kDecodes; ++i) fleet.replicas[2 + i].pools = {{PoolId(2), Footprint::InTokens(Tokens(1))}};
  fleet.replicas.back().models = {ModelId(1)};
  CoreStepper stepper(fleet);
  const auto arrive = [&](uint64_t id, uint32_t model, int64_t prompt, bool divisible) {
    RequestArrived request;
    request.request = RequestId(id);
    request.service_class = ClassId(1);
    request.model = ModelId(model);
    request.prompt = Tokens(prompt);
    request.divisible = divisible;
    return stepper.Send(request);
  };
  arrive(100, 0, 97'000, false);
  stepper.Wait(Duration::Seconds(5));
  stepper.Send(FirstToken{RequestId(100)});
  for (uint64_t id = 1; id <= kWaiting; ++id) {
    ASSERT_NE(Only<Park>(arrive(id, 0, 5000, true)), nullptr) << id;
    stepper.Wait(Duration::Milliseconds(1));
  }
  for (uint64_t id = 201; id <= 204; ++id) arrive(id, 1, 6000, true);
  stepper.Wait(Duration::Milliseconds(100));
  stepper.Finish(100, 10);
  stepper.RunTimers(stepper.now + Duration::Milliseconds(10));
  for (uint64_t id = 1; id <= kWaiting; ++id) EXPECT_FALSE(stepper.core.WaitOf(RequestId(id))) << id;
}

}  // namespace
}  // namespace penstock::testing
