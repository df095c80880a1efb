// Pairs that a reload changes, and what their replicas serve beside them.
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "router/core/pairs/pairs.h"
#include "tests/core/pairs/pair_fleet.h"

namespace penstock::testing {
namespace {

// A reload takes the roles away while requests wait and run.
TEST(Pairs, WithoutPairsARequestThatHadTwoStagesIsServedByOneReplica) {
  CoreStepper stepper(PairFleet(6000));
  for (uint64_t id = 1; id <= 2; ++id) {
    stepper.Arrive(id, 2500);
    stepper.Send(PrefillEnded{RequestId(id), true, Tokens(0)});
  }
  ASSERT_EQ(Only<Forward>(stepper.Arrive(3, 5500)), nullptr);
  Fleet fleet = PairFleet(6000);
  for (ReplicaSpec& replica : fleet.replicas) replica.role = EngineRole::kBoth;
  stepper.Send(FleetChanged{fleet});
  std::vector<Forward> again;
  for (uint64_t id = 1; id <= 2; ++id) {
    for (const Action& action : stepper.Send(RequestRequeued{RequestId(id), Tokens(7)})) {
      if (const auto* forward = std::get_if<Forward>(&action)) again.push_back(*forward);
    }
    stepper.Wait(Duration::Seconds(1));
  }
  EXPECT_FALSE(again.empty());
  for (const Forward& forward : again) EXPECT_FALSE(forward.prefill.has_value());
}

// A prefill replica may serve other requests since a reload, and the stage is no request of theirs.
TEST(Pairs, AStageIsNeverEvicted) {
  Fleet fleet = PairFleet();
  for (ReplicaSpec& replica : fleet.replicas) replica.max_sequences = 1;
  CoreStepper stepper(fleet);
  stepper.Send(ReplicaHealth{ReplicaId(kPrefillB), Health::kDown});
  const std::vector<Action> placed = stepper.Arrive(1, 4000, ClassId(2));
  const Forward* forward = Only<Forward>(placed);
  ASSERT_NE(forward, nullptr);
  ASSERT_TRUE(forward->prefill.has_value());
  stepper.Wait(Duration::Milliseconds(10));
  for (ReplicaSpec& replica : fleet.replicas) replica.role = EngineRole::kBoth;
  stepper.Send(FleetChanged{fleet});
  std::vector<Action> actions = stepper.Arrive(2, 100, ClassId(0));
  for (const Action& action : stepper.RunTimers(stepper.now)) actions.push_back(action);
  for (const Action& action : actions) {
    if (const auto* abort = std::get_if<Abort>(&action)) EXPECT_NE(abort->request, StageOf(RequestId(1)));
  }
  stepper.Send(RequestClosed{RequestId(1), Outcome::kClientGone});
  EXPECT_EQ(stepper.core.View(stepper.now).pools[kPrefillB].promised, Amount(0));
}

// A decode replica has the adapter, and nobody loads it for a prefill replica.
TEST(Pairs, APrefillReplicaWithoutTheAdapterComputesNoPromptOfIt) {
  Fleet fleet = PairFleet();
  fleet.models.push_back({"lora", ModelId(0)});
  for (ReplicaSpec& replica : fleet.replicas) {
    replica.models = {ModelId(0), ModelId(1)};
    replica.adapters.on_demand = {ModelId(1)};
    replica.adapters.most = 4;
  }
  CoreStepper stepper(fleet);
  stepper.Send(AdapterResidency{ReplicaId(kDecode), ModelId(1), true, false, Duration()});
  RequestArrived event;
  event.request = RequestId(1);
  event.model = ModelId(1);
  event.service_class = ClassId(1);
  event.prompt = Tokens(4000);
  const std::vector<Action> actions = stepper.Send(event);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr);
  EXPECT_FALSE(forward->prefill.has_value());
}

}  // namespace
}  // namespace penstock::testing
