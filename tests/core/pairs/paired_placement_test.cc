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

}  // namespace
}  // namespace penstock::testing
