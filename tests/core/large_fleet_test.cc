// Fleets of more replicas than one event may search.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "router/core/contract/admission_checks.h"
#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

using testing::CoreStepper;
using testing::FleetOptions;
using testing::MakeFleet;
using testing::Only;
using testing::Text;

constexpr int kReplicas = 200;

FleetOptions Large() {
  FleetOptions options;
  options.replicas = kReplicas;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  return options;
}

// Forwards among actions, by replica.
std::multiset<uint32_t> ForwardedTo(const std::vector<Action>& actions) {
  std::multiset<uint32_t> replicas;
  for (const Action& action : actions) {
    if (const auto* forward = std::get_if<Forward>(&action)) replicas.insert(forward->replica.value());
  }
  return replicas;
}

TEST(LargeFleet, NewcomersSpreadOverTheEmptiestReplicas) {
  CoreStepper stepper(MakeFleet(Large()));
  std::set<uint32_t> taken;
  for (uint64_t id = 1; id <= kReplicas; ++id) {
    const std::vector<Action> actions = stepper.Arrive(id, 400);
    const Forward* forward = Only<Forward>(actions);
    ASSERT_NE(forward, nullptr) << Text(actions);
    EXPECT_TRUE(taken.insert(forward->replica.value()).second) << "an empty replica was passed over for request " << id;
  }
}

TEST(LargeFleet, TheOneReplicaWithRoomIsFoundWhereverItIs) {
  for (const uint32_t roomy : {0u, 30u, 199u}) {
    Fleet fleet = MakeFleet(Large());
    fleet.pools[roomy].capacity = Amount(3000);
    for (uint32_t i = 0; i < kReplicas; ++i) {
      if (i != roomy) fleet.replicas[i].max_context = Tokens(300);
    }
    CoreStepper stepper(fleet);
    // It alone takes long ones, though it is the fullest.
    for (const uint64_t id : {1, 2}) {
      const std::vector<Action> actions = stepper.Arrive(id, 400);
      EXPECT_EQ(ForwardedTo(actions), std::multiset<uint32_t>{roomy}) << Text(actions);
    }
  }
}

TEST(LargeFleet, ReplicasThatTakeNobodyDoNotHideThoseThatDo) {
  Fleet fleet = MakeFleet(Large());
  // The emptiest take no second sequence; those with room look fuller.
  for (uint32_t i = 0; i < kReplicas; ++i) fleet.replicas[i].max_sequences = i < 150 ? 1 : 256;
  for (uint32_t i = 150; i < kReplicas; ++i) fleet.pools[i].capacity = Amount(500);
  CoreStepper stepper(fleet);
  std::multiset<uint32_t> taken;
  for (uint64_t id = 1; id <= 400; ++id) {
    std::vector<Action> actions = stepper.Arrive(id, 150);
    for (const Action& action : stepper.RunTimers(stepper.now)) actions.push_back(action);
    for (uint32_t replica : ForwardedTo(actions)) taken.insert(replica);
  }
  EXPECT_GE(taken.size(), 150u + 50u) << "every replica has taken what it can";
  for (uint32_t i = 0; i < kReplicas; ++i) EXPECT_GE(taken.count(i), 1u) << i;
}

TEST(LargeFleet, AFreedReplicaOfAFullFleetTakesTheFirstThatWaits) {
  CoreStepper stepper(MakeFleet(Large()));
  for (uint64_t id = 1; id <= kReplicas; ++id) stepper.Arrive(id, 700);
  for (uint64_t id = 1001; id <= 1010; ++id) {
    EXPECT_NE(Only<Park>(stepper.Arrive(id, 700)), nullptr);
  }
  const Instant before = stepper.now;
  int timers = 0;
  while (stepper.core.NextDeadline() && *stepper.core.NextDeadline() <= before) {
    stepper.Send(TimerFired{});
    ASSERT_LT(++timers, 1000);
  }
  // Everybody was tried everywhere. One freed replica takes one of them, in order.
  stepper.Send(FirstToken{RequestId(123)});
  const std::vector<Action> freed = stepper.Finish(123, 5);
  const Forward* forward = Only<Forward>(freed);
  ASSERT_NE(forward, nullptr) << Text(freed);
  EXPECT_EQ(forward->request, RequestId(1001));
}

TEST(LargeFleet, ASearchComesToItsEndThoughProgressIsForecastOnly) {
  CoreStepper stepper(MakeFleet(Large()));
  RequestArrived event;
  event.service_class = ClassId(1);
  event.prompt = Tokens(400);
  event.observed = false;
  for (uint64_t id = 1; id <= kReplicas; ++id) {
    event.request = RequestId(id);
    stepper.Send(event);
  }
  // Its prompt fits everywhere. Only a try of each replica shows that the outputs do not.
  event.request = RequestId(1001);
  event.prompt = Tokens(430);
  ASSERT_NE(Only<Park>(stepper.Send(event)), nullptr);
  int timers = 0;
  while (*stepper.core.NextDeadline() <= stepper.now) {
    stepper.Send(TimerFired{});
    ASSERT_LT(++timers, kReplicas);
  }
  EXPECT_GT(timers, 1) << "one event cannot search the fleet";
  EXPECT_EQ(stepper.core.WaitOf(event.request)->reason, WaitReason::kMemory);
}

TEST(LargeFleet, AnOutageRefusesAWholeQueueInPieces) {
  CoreStepper stepper(MakeFleet(Large()));
  for (uint64_t id = 1; id <= kReplicas + 500; ++id) stepper.Arrive(id, 700);
  stepper.RunTimers(stepper.now);
  for (uint32_t i = 0; i < kReplicas; ++i) stepper.Send(ReplicaHealth{ReplicaId(i), Health::kDown});
  std::vector<Action> once;
  stepper.Wait(kOutageGrace);
  for (const Action& action : stepper.Send(TimerFired{})) once.push_back(action);
  EXPECT_LT(once.size(), 100u) << "one event's share";
  const size_t rest = stepper.RunTimers(stepper.now).size();
  EXPECT_EQ(once.size() + rest, 500u);
  EXPECT_EQ(stepper.core.View(stepper.now).queued_requests, 0);
}

TEST(LargeFleet, AReplicaThatIsAddedLeavesWhatTheOthersHaveCached) {
  FleetOptions options;
  options.replicas = 3;
  Fleet fleet = MakeFleet(options);
  for (ReplicaSpec& replica : fleet.replicas) replica.prefix_cache = Tokens(100'000);
  CoreStepper stepper(fleet);
  RequestArrived event;
  event.prompt = Tokens(4'000);
  event.prefix = {1, 2, 3, 4, 5, 6, 7};
  const auto place = [&](uint64_t id) {
    event.request = RequestId(id);
    const std::vector<Action> actions = stepper.Send(event);
    const Forward* forward = Only<Forward>(actions);
    EXPECT_NE(forward, nullptr) << Text(actions);
    stepper.Finish(id, 5);
    return forward != nullptr ? forward->replica : ReplicaId(99);
  };
  const ReplicaId first = place(1);
  for (int added = 0; added < 20; ++added) {
    fleet.replicas.push_back(ReplicaSpec(fleet.replicas.front()));
    fleet.replicas.back().pools[0].pool = PoolId(static_cast<uint32_t>(fleet.pools.size()));
    fleet.pools.push_back(PoolSpec(fleet.pools.front()));
    stepper.Send(FleetChanged{fleet});
    stepper.Send(ReplicaHealth{ReplicaId(static_cast<uint32_t>(fleet.replicas.size() - 1)), Health::kUp});
    EXPECT_EQ(place(2 + static_cast<uint64_t>(added)), first);
  }
}

}  // namespace
}  // namespace penstock
