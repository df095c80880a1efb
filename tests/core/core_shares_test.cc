// The service that the core charges to a tenant, from the dispatch to the end of a request.
#include <ctime>

#include "absl/strings/str_cat.h"
#include "tests/core/core_test_support.h"

namespace penstock::testing {
namespace {

class CoreShares : public ::testing::Test {
 protected:
  static Fleet SharedFleet(int max_sequences, ServiceUnit unit = ServiceUnit::kTokens) {
    FleetOptions options;
    options.max_sequences = max_sequences;
    options.queue = Duration::Seconds(30);
    options.enforce_goals = false;
    Fleet fleet = MakeFleet(options);
    fleet.fairness = {FairnessMode::kWeighted, unit};
    TenantSpec& tenant = fleet.tenants.emplace_back();
    tenant.id = TenantId(1);
    tenant.name = "team-a";
    tenant.weight = 2;
    return fleet;
  }
  static std::vector<Action> Arrive(CoreStepper& stepper, uint64_t id, int64_t prompt, uint64_t tenant = 1) {
    RequestArrived event;
    event.request = RequestId(id);
    event.service_class = ClassId(1);
    event.tenant = TenantId(tenant);
    event.prompt = Tokens(prompt);
    return stepper.Send(event);
  }
  static double Service(const CoreStepper& stepper) { return stepper.core.View(stepper.now).shares.at(0).service; }
  static void Close(CoreStepper& stepper, uint64_t id, Outcome outcome, int64_t output) {
    stepper.Send(RequestClosed{RequestId(id), outcome, Tokens(0), Tokens(output), false});
  }
};

TEST_F(CoreShares, ADispatchIsChargedByForecastAndCorrectedAtTheEnd) {
  CoreStepper stepper(SharedFleet(4));
  ASSERT_NE(Only<Forward>(Arrive(stepper, 1, 1000)), nullptr);
  EXPECT_GT(Service(stepper), 1000);
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Finish(1, 50);
  EXPECT_EQ(Service(stepper), 1000 + 2 * 50);
  EXPECT_EQ(stepper.core.View(stepper.now).shares.at(0).weight, 2);
}

TEST_F(CoreShares, TheViewOfManyTenantsLooksAtThoseThatAQueueKnows) {
  constexpr uint32_t kModels = 400;
  constexpr uint64_t kTenants = 50'000;
  Fleet fleet = SharedFleet(1);
  for (uint32_t i = 1; i < kModels; ++i) fleet.models.push_back({absl::StrCat("m", i)});
  for (uint64_t i = 2; i <= kTenants; ++i) fleet.tenants.push_back({TenantId(i), absl::StrCat("t", i)});
  for (uint32_t i = 1; i < kModels; ++i) fleet.replicas[0].models.emplace_back(i);
  CoreStepper stepper(fleet);
  Arrive(stepper, 1, 1000, 1);
  for (uint32_t i = 0; i < kModels; ++i) {
    RequestArrived event;
    event.request = RequestId(2 + i);
    event.model = ModelId(i);
    event.service_class = ClassId(1);
    event.tenant = TenantId(2 + i);
    event.prompt = Tokens(1000);
    ASSERT_NE(Only<Park>(stepper.Send(event)), nullptr);
  }
  // A look for each tenant in each queue would take seconds.
  const std::clock_t begin = std::clock();
  const CoreView view = stepper.core.View(stepper.now);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 0.25);
  ASSERT_EQ(view.shares.size(), kTenants);
  EXPECT_GT(view.shares[0].ahead, 0) << "another tenant waits for the model that it uses";
  EXPECT_EQ(view.shares[1].ahead, 0);
  EXPECT_EQ(view.shares.back().ahead, 0);
}

TEST_F(CoreShares, RefusalsAndRequestsThatLeaveTheQueueCostNothing) {
  CoreStepper stepper(SharedFleet(1));
  Arrive(stepper, 1, 1000, 9);
  ASSERT_NE(Only<Park>(Arrive(stepper, 2, 1000)), nullptr);
  Close(stepper, 2, Outcome::kClientGone, 0);
  EXPECT_EQ(Service(stepper), 0);
  ASSERT_NE(Only<Park>(Arrive(stepper, 3, 1000)), nullptr);
  const std::vector<Action> late = stepper.RunTimers(stepper.now + Duration::Seconds(31));
  ASSERT_NE(Only<Refuse>(late), nullptr);
  EXPECT_EQ(Service(stepper), 0);
}

TEST_F(CoreShares, ARequestThatItsEngineRejectedCostsNothingAndAnAbortedOneItsUse) {
  CoreStepper stepper(SharedFleet(4));
  Arrive(stepper, 1, 1000);
  Close(stepper, 1, Outcome::kRejected, 0);
  EXPECT_EQ(Service(stepper), 0);
  Arrive(stepper, 2, 1000);
  stepper.Send(FirstToken{RequestId(2)});
  Close(stepper, 2, Outcome::kClientGone, 7);
  EXPECT_EQ(Service(stepper), 1000 + 2 * 7);
}

TEST_F(CoreShares, ARequestThatIsTriedAgainIsChargedOnce) {
  CoreStepper stepper(SharedFleet(4));
  Arrive(stepper, 1, 1000);
  const double charged = Service(stepper);
  stepper.Send(RequestRequeued{RequestId(1), Tokens(0), false});
  stepper.RunTimers(stepper.now + Duration::Seconds(1));
  EXPECT_EQ(Service(stepper), charged);
  stepper.Finish(1, 20);
  EXPECT_EQ(Service(stepper), 1000 + 2 * 20);
}

TEST_F(CoreShares, MemoryIsChargedForTheTimeForWhichItIsHeld) {
  CoreStepper stepper(SharedFleet(4, ServiceUnit::kMemory));
  Arrive(stepper, 1, 1000);
  EXPECT_GT(Service(stepper), 0);
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Wait(Duration::Seconds(3));
  stepper.Finish(1, 50);
  EXPECT_NEAR(Service(stepper), 3 * (1000 + 50.0 / 2), 1e-6);
}

TEST_F(CoreShares, ARequestThatOnlyADeadReplicaCouldTakeHoldsNobodyBack) {
  FleetOptions options;
  options.replicas = 2;
  options.enforce_goals = false;
  Fleet fleet = SharedFleet(1);
  const Fleet two = MakeFleet(options);
  fleet.pools = two.pools;
  fleet.replicas = two.replicas;
  fleet.replicas[0].max_sequences = 1;
  fleet.replicas[0].max_context = Tokens(2000);
  CoreStepper stepper(fleet);
  stepper.Send(ReplicaHealth{ReplicaId(1), Health::kDown});
  ASSERT_NE(Only<Park>(Arrive(stepper, 1, 10'000, 1)), nullptr) << "too long for the replica that is up";
  uint64_t served = 0;
  for (uint64_t id = 2; id < 40; ++id) Arrive(stepper, id, 1000, 2);
  for (uint64_t id = 2; id < 40; ++id) {
    stepper.Send(FirstToken{RequestId(id)});
    const std::vector<Action> actions = stepper.Finish(id, 10);
    for (const Action& action : actions) served += std::holds_alternative<Forward>(action);
    for (const Action& action : stepper.RunTimers(stepper.now)) served += std::holds_alternative<Forward>(action);
  }
  EXPECT_EQ(served, 37u) << "the first went out at once, each end lets the next one in";
}

}  // namespace
}  // namespace penstock::testing
