// A replica on a place that another one had: nothing of that one reaches it.
#include <gtest/gtest.h>

#include "router/core/contract/vacancy.h"
#include "router/policies/policy_factory.h"
#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

using testing::FleetOptions;

Fleet WithVacantFirst(Fleet fleet) {
  fleet.replicas[0] = ReplicaSpec();
  fleet.replicas[0].removed = true;
  fleet.pools[0] = PoolSpec();
  return fleet;
}

Fleet WithNewFirst(Fleet fleet) {
  fleet.replicas[0].name = fleet.pools[0].name = "new";
  return fleet;
}

EngineReport ReportOfFirst(Instant at, int64_t preemptions) {
  EngineReport report;
  report.replica = ReplicaId(0);
  report.sampled_at = at;
  report.kv_used_share = 0.9;
  report.running = 3;
  report.preemptions = preemptions;
  return report;
}

// Policies with books of their own per replica are served the same events.
class UsedPlace : public ::testing::TestWithParam<const char*> {
 protected:
  UsedPlace() : core_(MakePolicy(GetParam(), 1, &unknown_)) {}
  void Send(const Event& event) {
    std::vector<Action> actions;
    core_->Apply(event, now_, actions);
  }
  void Arrive(uint64_t id) {
    RequestArrived event;
    event.request = RequestId(id);
    event.service_class = ClassId(1);
    event.prompt = Tokens(2048);
    event.prefix = {11, 12, 13, 14};
    Send(event);
  }

  std::string unknown_;
  std::unique_ptr<AdmissionCore> core_;
  Instant now_ = Instant::FromSeconds(100);
};

TEST_P(UsedPlace, ANewReplicaKnowsNothingOfTheOneBefore) {
  ASSERT_NE(core_, nullptr) << unknown_;
  const Fleet fleet = testing::MakeFleet(FleetOptions{.replicas = 1});
  Send(FleetChanged{fleet});
  Send(ReplicaHealth{ReplicaId(0), Health::kUp});
  Send(ReportOfFirst(now_, 5));
  Send(ReportOfFirst(now_, 9));
  Arrive(1);
  Send(FirstToken{RequestId(1)});
  now_ = now_ + Duration::Milliseconds(200);
  Send(Progress{{{ReplicaId(0), 4, now_}}, {}});
  Send(RequestClosed{RequestId(1), Outcome::kFinished, Tokens(0), Tokens(5), false});
  Fleet removed = fleet;
  removed.replicas[0].removed = true;
  Send(FleetChanged{removed});
  Send(FleetChanged{WithVacantFirst(fleet)});
  EXPECT_EQ(core_->View(now_).replicas[0].name, "");
  Send(FleetChanged{WithNewFirst(fleet)});
  const CoreView view = core_->View(now_);
  const ReplicaView& replica = view.replicas[0];
  EXPECT_EQ(replica.name, "new");
  EXPECT_EQ(replica.health, Health::kDown) << "it was never seen up";
  EXPECT_EQ(replica.preemptions, 0);
  EXPECT_EQ(replica.running, 0);
  EXPECT_EQ(view.pools[0].reported, Amount(0));
  EXPECT_EQ(view.pools[0].foreign, Amount(0));
  EXPECT_EQ(view.pools[0].overdrafts, 0);
  EXPECT_EQ(view.pools[0].held, Amount(0));
  // It takes requests, and its own reports count.
  Send(ReplicaHealth{ReplicaId(0), Health::kUp});
  Send(ReportOfFirst(now_, 2));
  Arrive(2);
  EXPECT_EQ(core_->View(now_).replicas[0].running, 1);
  EXPECT_EQ(core_->View(now_).replicas[0].preemptions, 0) << "the first report of a counter tells no increase";
}

INSTANTIATE_TEST_SUITE_P(Policies, UsedPlace,
                         ::testing::Values("penstock", "least_load", "prequal", "dynamo_cost", "cache_aware"));

TEST(UsedPlaceOfPenstock, ANewModelAndANewClassKnowNothingOfThoseBefore) {
  const Fleet fleet = testing::MakeFleet(FleetOptions{.replicas = 1});
  testing::CoreStepper stepper(fleet);
  stepper.Arrive(1, 600);
  stepper.Finish(1, 10);
  const std::string model = fleet.models[0].name;
  const size_t lanes = stepper.core.View(stepper.now).lanes.size();
  ASSERT_EQ(lanes, fleet.models.size() * fleet.classes.size());
  EXPECT_GT(stepper.core.View(stepper.now).lanes[0].drain_rate, 0);
  Fleet vacant = fleet;
  vacant.models[0] = ModelSpec();
  vacant.classes.back() = ClassSpec();
  vacant.replicas[0].models.clear();
  stepper.Send(FleetChanged{vacant});
  EXPECT_EQ(stepper.core.View(stepper.now).lanes.size(), (fleet.models.size() - 1) * (fleet.classes.size() - 1));
  Fleet taken = fleet;
  taken.models[0].name = "new";
  taken.classes.back().name = "late";
  stepper.Send(FleetChanged{taken});
  const CoreView view = stepper.core.View(stepper.now);
  ASSERT_EQ(view.lanes.size(), lanes);
  EXPECT_EQ(view.lanes[0].model, "new");
  EXPECT_EQ(view.lanes[fleet.classes.size() - 1].service_class, "late");
  EXPECT_EQ(view.lanes[0].drain_rate, 0) << "nothing of the new model was dispatched";
  EXPECT_EQ(stepper.core.CheckBooks(), "");
}

TEST(UsedPlaceOfPenstock, AModelAndAClassWithRequestsForgetNothing) {
  testing::CoreStepper stepper(testing::MakeFleet(FleetOptions{.replicas = 1}));
  for (uint64_t id = 1; id <= 40; ++id) stepper.Arrive(id, 600);
  Fleet vacant = testing::MakeFleet(FleetOptions{.replicas = 1});
  vacant.fairness.mode = FairnessMode::kWeighted;
  stepper.Send(FleetChanged{vacant});
  for (ModelSpec& model : vacant.models) model = ModelSpec();
  for (ClassSpec& each : vacant.classes) each.name.clear();
  stepper.Send(FleetChanged{vacant});
  for (uint64_t id = 1; id <= 40; ++id) stepper.Finish(id, 10);
  EXPECT_EQ(stepper.core.CheckBooks(), "");
}

TEST(UsedPlaceOfPenstock, APlaceWithRequestsForgetsNothing) {
  testing::CoreStepper stepper(testing::MakeFleet(FleetOptions{.replicas = 2}));
  stepper.Arrive(1, 600);
  stepper.Arrive(2, 600);
  stepper.Send(FleetChanged{WithVacantFirst(testing::MakeFleet(FleetOptions{.replicas = 2}))});
  stepper.Finish(1, 10);
  stepper.Finish(2, 10);
  EXPECT_EQ(stepper.core.CheckBooks(), "");
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].held, Amount(0));
}

}  // namespace
}  // namespace penstock
