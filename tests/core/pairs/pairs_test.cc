// One placement over two pools: the first stage of a request, from its choice to the end of its memory.
#include <gmock/gmock.h>

#include <utility>

#include "router/core/pairs/pairs.h"
#include "tests/core/pairs/pair_fleet.h"

namespace penstock::testing {
namespace {

Amount Promised(CoreStepper& stepper, uint32_t pool) { return stepper.core.View(stepper.now).pools[pool].promised; }

TEST(Pairs, ARequestIsPlacedOnAPrefillAndADecodeReplicaAtOnce) {
  CoreStepper stepper(PairFleet());
  const std::vector<Action> actions = stepper.Arrive(1, 4000);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr) << Text(actions);
  EXPECT_EQ(forward->replica, ReplicaId(kDecode));
  ASSERT_TRUE(forward->prefill.has_value());
  EXPECT_EQ(forward->prefill->replica, ReplicaId(kPrefillA));
  EXPECT_GE(Promised(stepper, kPrefillA), Amount(4000));
  EXPECT_GE(Promised(stepper, kDecode), Amount(4000));
  EXPECT_EQ(Promised(stepper, kPrefillB), Amount(0));
}

TEST(Pairs, TheExpectedFirstTokenIsPrefillTransferAndOneStep) {
  CoreStepper stepper(PairFleet());
  const std::vector<Action> actions = stepper.Arrive(1, 4000);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr);
  // Two steps of 10 ms with 0.05 ms for each token, and the transfer; then a step with one token.
  const double handed_over = 0.02 + 4000 * 0.05e-3 + 4000 * 1e-5;
  EXPECT_NEAR(forward->prefill->expected.seconds(), handed_over, 0.005);
  EXPECT_NEAR(forward->expected_ttft.seconds(), handed_over + 0.01, 0.01);
}

TEST(Pairs, TheNextPromptGoesWhereItsCacheIsHandedOverFirst) {
  CoreStepper stepper(PairFleet());
  stepper.Arrive(1, 4000);
  const Forward forward = *Only<Forward>(stepper.Arrive(2, 4000));
  EXPECT_EQ(forward.prefill->replica, ReplicaId(kPrefillB));
}

TEST(Pairs, ACachedPromptIsWorthAWaitForItsReplica) {
  CoreStepper stepper(PairFleet());
  RequestArrived first;
  first.service_class = ClassId(1);
  first.request = RequestId(1);
  first.prompt = Tokens(8192);
  for (uint64_t block = 1; block <= 16; ++block) first.prefix.push_back(block);
  Fleet fleet = PairFleet();
  for (const uint32_t id : {kPrefillA, kPrefillB}) fleet.replicas[id].prefix_cache = Tokens(50'000);
  stepper.Send(FleetChanged{fleet});
  const Forward before = *Only<Forward>(stepper.Send(first));
  stepper.Wait(Duration::Milliseconds(500));
  stepper.Send(PrefillEnded{RequestId(1), true, Tokens(0)});
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Finish(1, 10);
  // The other one is as idle, but would compute everything.
  RequestArrived second = first;
  second.request = RequestId(2);
  const Forward again = *Only<Forward>(stepper.Send(second));
  EXPECT_EQ(again.prefill->replica, before.prefill->replica);
}

TEST(Pairs, MemoryOfTheFirstStageIsHeldUntilTheFirstToken) {
  CoreStepper stepper(PairFleet());
  stepper.Arrive(1, 4000);
  stepper.Wait(Duration::Milliseconds(230));
  stepper.Send(PrefillEnded{RequestId(1), true, Tokens(0)});
  EXPECT_GE(Promised(stepper, kPrefillA), Amount(4000));
  stepper.Wait(Duration::Milliseconds(50));
  stepper.Send(FirstToken{RequestId(1)});
  EXPECT_EQ(Promised(stepper, kPrefillA), Amount(0));
  EXPECT_GE(Promised(stepper, kDecode), Amount(4000));
  stepper.Finish(1, 10);
  EXPECT_EQ(Promised(stepper, kDecode), Amount(0));
}

TEST(Pairs, AFullPrefillPoolMakesTheRequestWaitForIt) {
  CoreStepper stepper(PairFleet(6000));
  for (uint64_t id = 1; id <= 2; ++id) {
    stepper.Arrive(id, 2500);
    stepper.Send(PrefillEnded{RequestId(id), true, Tokens(0)});
  }
  stepper.Finish(1, 1);
  const std::vector<Action> actions = stepper.Arrive(3, 5500);
  EXPECT_EQ(Only<Forward>(actions), nullptr) << Text(actions);
}

TEST(Pairs, AnEngineThatHandsNothingOverLeavesThePromptToTheOther) {
  CoreStepper stepper(PairFleet());
  stepper.Arrive(1, 4000);
  stepper.Wait(Duration::Milliseconds(200));
  stepper.Send(PrefillEnded{RequestId(1), false, Tokens(-1)});
  EXPECT_EQ(Promised(stepper, kPrefillA), Amount(0));
  EXPECT_EQ(stepper.core.View(stepper.now).replicas[kDecode].backlog.tokens, Tokens(4000));
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Finish(1, 10);
  EXPECT_EQ(Promised(stepper, kDecode), Amount(0));
}

TEST(Pairs, APrefillReplicaThatFailsARequestIsAvoided) {
  CoreStepper stepper(PairFleet());
  stepper.Arrive(1, 4000);
  const std::vector<Action> actions = stepper.Send(RequestRequeued{RequestId(1), Tokens(0), true, true});
  ASSERT_EQ(actions.size(), 2u) << Text(actions);
  const Forward& forward = std::get<Forward>(actions[1]);
  EXPECT_EQ(forward.replica, ReplicaId(kDecode));
  EXPECT_EQ(forward.prefill->replica, ReplicaId(kPrefillB));
  EXPECT_EQ(Promised(stepper, kPrefillA), Amount(0));
}

TEST(Pairs, ARequestThatAllPrefillReplicasFailedIsComputedByItsDecodeReplica) {
  CoreStepper stepper(PairFleet());
  stepper.Arrive(1, 4000);
  stepper.Send(RequestRequeued{RequestId(1), Tokens(0), true, true});
  const std::vector<Action> actions = stepper.Send(RequestRequeued{RequestId(1), Tokens(0), true, true});
  ASSERT_EQ(actions.size(), 2u) << Text(actions);
  EXPECT_EQ(std::get<Forward>(actions[1]).replica, ReplicaId(kDecode));
  EXPECT_FALSE(std::get<Forward>(actions[1]).prefill);
}

TEST(Pairs, DecodeReplicasComputePromptsWhileNoPrefillReplicaIsUp) {
  CoreStepper stepper(PairFleet());
  for (const uint32_t id : {kPrefillA, kPrefillB}) stepper.Send(ReplicaHealth{ReplicaId(id), Health::kDown});
  const std::vector<Action> actions = stepper.Arrive(1, 4000);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr);
  EXPECT_FALSE(forward->prefill);
  stepper.Send(ReplicaHealth{ReplicaId(kPrefillB), Health::kUp});
  EXPECT_TRUE(Only<Forward>(stepper.Arrive(2, 4000))->prefill);
}

TEST(Pairs, APrefillReplicaGetsNoRequestOfItsOwn) {
  CoreStepper stepper(PairFleet());
  stepper.Send(ReplicaHealth{ReplicaId(kDecode), Health::kDown});
  stepper.Arrive(1, 4000);
  stepper.RunTimers(stepper.now + Duration::Seconds(60));
  const CoreView view = stepper.core.View(stepper.now);
  EXPECT_EQ(view.replicas[kPrefillA].running + view.replicas[kPrefillB].running, 0);
}

TEST(Pairs, IndivisibleRequestsAreServedByTheDecodeReplicaAlone) {
  CoreStepper stepper(PairFleet());
  RequestArrived arrived;
  arrived.service_class = ClassId(1);
  arrived.request = RequestId(1);
  arrived.prompt = Tokens(4000);
  arrived.divisible = false;
  EXPECT_FALSE(Only<Forward>(stepper.Send(arrived))->prefill);
}

TEST(Pairs, AShortPromptHasOneStage) {
  CoreStepper stepper(PairFleet());
  // A step has 2,048 tokens.
  EXPECT_FALSE(Only<Forward>(stepper.Arrive(1, 2048))->prefill);
  EXPECT_TRUE(Only<Forward>(stepper.Arrive(2, 2049))->prefill);
}

TEST(Pairs, APromptThatADecodeReplicaHasCachedHasOneStage) {
  Fleet fleet = PairFleet();
  fleet.replicas[kDecode].prefix_cache = Tokens(50'000);
  CoreStepper stepper(fleet);
  RequestArrived first;
  first.service_class = ClassId(1);
  first.request = RequestId(1);
  first.prompt = Tokens(8192);
  for (uint64_t block = 1; block <= 16; ++block) first.prefix.push_back(block);
  EXPECT_TRUE(Only<Forward>(stepper.Send(first))->prefill);
  stepper.Send(PrefillEnded{RequestId(1), true, Tokens(0)});
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Finish(1, 10);
  RequestArrived second = first;
  second.request = RequestId(2);
  second.prompt = Tokens(8704);
  second.prefix.push_back(17);
  EXPECT_FALSE(Only<Forward>(stepper.Send(second))->prefill) << "the decode engine has the cache that came";
}

TEST(Pairs, AClientThatLeavesFreesBothPools) {
  for (const bool computed : {false, true}) {
    CoreStepper stepper(PairFleet());
    stepper.Arrive(1, 4000);
    if (computed) stepper.Send(PrefillEnded{RequestId(1), true, Tokens(0)});
    stepper.Send(RequestClosed{RequestId(1), Outcome::kClientGone, Tokens(0), Tokens(0), false});
    EXPECT_EQ(Promised(stepper, kPrefillA), Amount(0)) << computed;
    EXPECT_EQ(Promised(stepper, kDecode), Amount(0)) << computed;
  }
}

TEST(Pairs, AnAnswerInOnePieceHoldsThePrefillMemoryUntilItsFirstTokenIsDue) {
  CoreStepper stepper(PairFleet());
  RequestArrived arrived;
  arrived.service_class = ClassId(1);
  arrived.request = RequestId(1);
  arrived.prompt = Tokens(4000);
  arrived.observed = false;
  stepper.Send(arrived);
  stepper.Wait(Duration::Milliseconds(230));
  stepper.Send(PrefillEnded{RequestId(1), true, Tokens(0)});
  EXPECT_GE(Promised(stepper, kPrefillA), Amount(4000));
  stepper.RunTimers(stepper.now + Duration::Milliseconds(300));
  EXPECT_EQ(Promised(stepper, kPrefillA), Amount(0));
  EXPECT_GE(Promised(stepper, kDecode), Amount(4000));
}

TEST(Pairs, TheTransferTimeIsLearned) {
  CoreStepper stepper(PairFleet());
  Duration expected;
  for (uint64_t id = 1; id <= 40; ++id) {
    const Forward forward = *Only<Forward>(stepper.Arrive(id, 4000));
    expected = forward.prefill->expected;
    stepper.Wait(Duration::Milliseconds(222));
    stepper.Send(PrefillEnded{RequestId(id), true, Tokens(0)});
    stepper.Wait(Duration::Milliseconds(400));
    stepper.Send(FirstToken{RequestId(id)});
    stepper.Finish(id, 10);
    stepper.Wait(Duration::Seconds(2));
  }
  EXPECT_NEAR(expected.seconds(), 0.222 + 0.39, 0.1);
}

TEST(Pairs, EventsOfUnknownRequestsAreVoid) {
  CoreStepper stepper(PairFleet());
  EXPECT_TRUE(stepper.Send(PrefillEnded{RequestId(9), true, Tokens(0)}).empty());
  stepper.Arrive(1, 4000);
  stepper.Send(PrefillEnded{RequestId(1), true, Tokens(0)});
  EXPECT_TRUE(stepper.Send(PrefillEnded{RequestId(1), true, Tokens(0)}).empty());
}

}  // namespace
}  // namespace penstock::testing
