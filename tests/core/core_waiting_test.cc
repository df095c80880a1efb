#include "router/core/penstock_core.h"

#include <gtest/gtest.h>

#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

using testing::CoreStepper;
using testing::FleetOptions;
using testing::MakeFleet;
using testing::Only;
using testing::Text;

TEST(CoreWaiting, ARequestThatDoesNotFitIsParkedAndForwardedWhenMemoryIsBack) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 600)), nullptr);
  const std::vector<Action> parked = stepper.Arrive(2, 600);
  const Park* park = Only<Park>(parked);
  ASSERT_NE(park, nullptr) << Text(parked);
  EXPECT_EQ(park->reason, WaitReason::kMemory);
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Wait(Duration::Milliseconds(50));
  const std::vector<Action> freed = stepper.Finish(1, 10);
  const Forward* forward = Only<Forward>(freed);
  ASSERT_NE(forward, nullptr) << Text(freed);
  EXPECT_EQ(forward->request, RequestId(2));
  EXPECT_EQ(forward->waited, Duration::Milliseconds(50));
}

TEST(CoreWaiting, TheCoreNamesTheModelsThatMemoryHoldsBackAndTheirUnusedMemory) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  EXPECT_TRUE(stepper.core.FindMemoryWaits(stepper.now).models.empty());
  stepper.Arrive(1, 600);
  EXPECT_TRUE(stepper.core.FindMemoryWaits(stepper.now).pools.empty()) << "free memory that nobody waits for";
  stepper.Arrive(2, 600);
  const MemoryWaits waits = stepper.core.FindMemoryWaits(stepper.now);
  EXPECT_EQ(waits.models, std::vector<ModelId>{ModelId(0)});
  ASSERT_EQ(waits.pools.size(), 1u);
  EXPECT_GE(waits.pools[0].unused, Amount(0));
  EXPECT_LT(waits.pools[0].unused, Amount(400)) << "the growth of the running request is not unused";
  stepper.Finish(1, 10);
  EXPECT_TRUE(stepper.core.FindMemoryWaits(stepper.now).models.empty());
}

TEST(CoreWaiting, BestEffortWaitsForOthersWhileSomeAreRefusedButNotForAnIdleReplica) {
  for (const int replicas : {2, 60}) {
    FleetOptions options;
    options.replicas = replicas;
    options.pool_tokens = 50'000;
    CoreStepper stepper(MakeFleet(options));
    for (int id = 1; id <= replicas; ++id) {
      ASSERT_NE(Only<Forward>(stepper.Arrive(static_cast<uint64_t>(id), 30'000)), nullptr);
    }
    for (uint64_t id = 101; id <= 110; ++id) ASSERT_NE(Only<Park>(stepper.Arrive(id, 30'000)), nullptr);
    EXPECT_FALSE(stepper.RunTimers(stepper.now + Duration::Seconds(2)).empty()) << "they are refused as late";
    // No replica can have its first token within the TTFT goal of 2 s.
    ASSERT_NE(Only<Park>(stepper.Arrive(200, 45'000)), nullptr);
    stepper.Send(FirstToken{RequestId(2)});
    const std::vector<Action> idle = stepper.Finish(2, 5);
    ASSERT_NE(Only<Forward>(idle), nullptr) << Text(idle);
    EXPECT_EQ(Only<Forward>(idle)->request, RequestId(200));
  }
}

TEST(CoreWaiting, ASmallRequestGoesPastALargeOneThatDoesNotFit) {
  FleetOptions options;
  options.pool_tokens = 4000;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 1500)), nullptr);
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 3500)), nullptr);
  const std::vector<Action> small = stepper.Arrive(3, 50);
  ASSERT_NE(Only<Forward>(small), nullptr) << Text(small);
}

TEST(CoreWaiting, AParkedRequestIsRefusedWhenItsFirstTokenCanNoLongerComeInTime) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 600);
  stepper.Arrive(2, 600);
  stepper.Send(FirstToken{RequestId(1)});
  const Instant arrival = stepper.now;
  const std::vector<Action> early = stepper.RunTimers(arrival + Duration::Milliseconds(1900));
  EXPECT_TRUE(early.empty()) << Text(early);
  const std::vector<Action> late = stepper.RunTimers(arrival + Duration::Milliseconds(2000));
  const Refuse* refuse = Only<Refuse>(late);
  ASSERT_NE(refuse, nullptr) << Text(late);
  EXPECT_EQ(refuse->reason, Refusal::kDeadlineUnreachable);
  EXPECT_GE(refuse->retry_after, Duration::Seconds(1));
  EXPECT_LE(refuse->retry_after, Duration::Seconds(60));
}

TEST(CoreWaiting, WithoutEnforcedGoalsARequestWaitsForItsWholeQueueTime) {
  FleetOptions options;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 600);
  stepper.Arrive(2, 600);
  const Instant arrival = stepper.now;
  EXPECT_TRUE(stepper.RunTimers(arrival + Duration::Seconds(29)).empty());
  const std::vector<Action> late = stepper.RunTimers(arrival + Duration::Seconds(31));
  const Refuse* refuse = Only<Refuse>(late);
  ASSERT_NE(refuse, nullptr) << Text(late);
  EXPECT_EQ(refuse->reason, Refusal::kQueueTimeout);
}

TEST(CoreWaiting, APromptTooLongForItsGoalOnAnIdleFleetIsServedBestEffort) {
  CoreStepper stepper(MakeFleet({}));
  // 45,000 tokens at 0.05 ms take 2.25 s of the 2 s goal.
  stepper.Arrive(1, 100);
  const std::vector<Action> arrived = stepper.Arrive(2, 45'000);
  for (const Action& action : arrived) EXPECT_EQ(std::get_if<Refuse>(&action), nullptr) << Text(arrived);
  const std::vector<Action> later = stepper.RunTimers(stepper.now + Duration::Seconds(20));
  EXPECT_TRUE(later.empty()) << Text(later);
}

TEST(CoreWaiting, AFullPoolDoesNotBlockTheLaneOfAnotherModel) {
  FleetOptions options;
  options.replicas = 2;
  options.pool_tokens = 1000;
  Fleet fleet = MakeFleet(options);
  fleet.models.push_back({"code"});
  fleet.replicas[1].models = {ModelId(1)};
  CoreStepper stepper(fleet);
  stepper.Arrive(1, 900);
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 900)), nullptr);
  RequestArrived other;
  other.request = RequestId(3);
  other.model = ModelId(1);
  other.service_class = ClassId(1);
  other.prompt = Tokens(900);
  const std::vector<Action> actions = stepper.Send(other);
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

TEST(CoreWaiting, InteractiveRequestsGoBeforeBackgroundOnes) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 600);
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Arrive(2, 600, ClassId(2));
  stepper.Arrive(3, 600, ClassId(0));
  const std::vector<Action> actions = stepper.Finish(1, 5);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr) << Text(actions);
  EXPECT_EQ(forward->request, RequestId(3));
}

TEST(CoreWaiting, BackgroundRequestsKeepAGuaranteedShareUnderInteractiveLoad) {
  FleetOptions options;
  options.max_sequences = 1;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 100, ClassId(0));
  stepper.Arrive(2, 100, ClassId(2));
  uint64_t running = 1;
  uint64_t next = 3;
  bool served = false;
  for (int round = 0; round < 60 && !served; ++round) {
    stepper.Arrive(next++, 100, ClassId(0));
    stepper.Send(FirstToken{RequestId(running)});
    const std::vector<Action> actions = stepper.Finish(running, 5);
    const Forward* forward = Only<Forward>(actions);
    ASSERT_NE(forward, nullptr) << Text(actions);
    running = forward->request.value();
    served = running == 2;
  }
  EXPECT_TRUE(served);
}

TEST(CoreWaiting, AFullQueueRefusesTheNewcomer) {
  FleetOptions options;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  Fleet fleet = MakeFleet(options);
  fleet.limits.max_queued_requests = 2;
  CoreStepper stepper(fleet);
  stepper.Arrive(1, 900);
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 900)), nullptr);
  ASSERT_NE(Only<Park>(stepper.Arrive(3, 900)), nullptr);
  const std::vector<Action> actions = stepper.Arrive(4, 900);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kQueueFull);
  EXPECT_EQ(refuse->bound, 2);
}

TEST(CoreWaiting, TheBytesOfTheQueueAreBoundedOnBothSides) {
  FleetOptions options;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  Fleet fleet = MakeFleet(options);
  fleet.limits.max_queued_bytes = Bytes(300);
  CoreStepper stepper(fleet);
  const auto arrive = [&](uint64_t id, int64_t bytes) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = ClassId(1);
    arrived.prompt = Tokens(900);
    arrived.body = Bytes(bytes);
    return stepper.Send(arrived);
  };
  arrive(1, 500);
  ASSERT_NE(Only<Park>(arrive(2, 100)), nullptr);
  ASSERT_NE(Only<Park>(arrive(3, 200)), nullptr);
  const std::vector<Action> actions = arrive(4, 1);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kQueueFull);
}

TEST(CoreWaiting, AfterShutdownArrivalsAreRefusedAndWaitingOnesServed) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 600);
  stepper.Arrive(2, 600);
  stepper.Send(ShutdownStarted{});
  const std::vector<Action> refused = stepper.Arrive(3, 10);
  ASSERT_NE(Only<Refuse>(refused), nullptr) << Text(refused);
  EXPECT_EQ(Only<Refuse>(refused)->reason, Refusal::kShuttingDown);
  stepper.Send(FirstToken{RequestId(1)});
  EXPECT_NE(Only<Forward>(stepper.Finish(1, 5)), nullptr);
}

TEST(CoreWaiting, WhatOpensForOneFarBehindIsNotForgottenWhenThoseBeforeItLeave) {
  FleetOptions options;
  options.pool_tokens = 90'000;
  options.max_sequences = 2;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 45'000)), nullptr);
  stepper.Send(FirstToken{RequestId(1)});
  ASSERT_NE(Only<Forward>(stepper.Arrive(2, 200)), nullptr);
  stepper.Send(FirstToken{RequestId(2)});
  constexpr uint64_t kLong = kLookPast + 1;
  for (uint64_t id = 10; id < 10 + kLong; ++id) ASSERT_NE(Only<Park>(stepper.Arrive(id, 49'000, ClassId(0))), nullptr);
  stepper.Wait(Duration::Milliseconds(1));
  ASSERT_NE(Only<Park>(stepper.Arrive(3, 200, ClassId(0))), nullptr);
  EXPECT_TRUE(stepper.Finish(2, 5).empty()) << "the long ones find no memory";
  std::vector<Action> all;
  for (uint64_t id = 10; id < 10 + kLong; ++id) {
    for (const Action& action :
         stepper.Send(RequestClosed{RequestId(id), Outcome::kClientGone, Tokens(0), Tokens(0), false})) {
      all.push_back(action);
    }
  }
  ASSERT_NE(Only<Forward>(all), nullptr) << Text(all);
  EXPECT_EQ(Only<Forward>(all)->request, RequestId(3));
}

TEST(CoreWaiting, MemoryInAPoolThatTheReplicaHasLeftSinceGoesToThoseWhoWaitForIt) {
  FleetOptions options;
  options.replicas = 2;
  options.pool_tokens = 1000;
  options.elastic = true;
  options.enforce_goals = false;
  Fleet fleet = MakeFleet(options);
  fleet.models.push_back({"code"});
  fleet.replicas[1].models = {ModelId(1)};
  CoreStepper stepper(fleet);
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 900)), nullptr);
  RequestArrived waiting;
  waiting.request = RequestId(2);
  waiting.model = ModelId(1);
  waiting.service_class = ClassId(1);
  waiting.prompt = Tokens(900);
  ASSERT_NE(Only<Park>(stepper.Send(waiting)), nullptr);
  fleet.pools.push_back(PoolSpec(fleet.pools[0]));
  fleet.replicas[0].pools[0].pool = PoolId(1);
  EXPECT_TRUE(stepper.Send(FleetChanged{fleet}).empty());
  EXPECT_NE(Only<Forward>(stepper.Finish(1, 5)), nullptr);
}

}  // namespace
}  // namespace penstock
