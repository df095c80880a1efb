#include "bench/simulation/simulation_accounts.h"

#include <gtest/gtest.h>

#include "tests/bench/simulation/simulation_fixture.h"

namespace penstock::bench {
namespace {

class SimulationAccountsTest : public ::testing::Test {
 protected:
  static EngineTotals Totals(int64_t preemptions, int64_t recomputed) {
    return {preemptions, recomputed, std::vector<StepTime>(2)};
  }
  static Instant At(double seconds) { return Instant::FromSeconds(seconds); }
  SimulationOutcome Finish() { return accounts_.Finish(Totals(0, 0), CoreView(), At(20)); }

  SimulatedFleetSpec spec_ = FleetOf(2);
  SimulationAccounts accounts_{spec_, Duration::Seconds(10)};
};

TEST_F(SimulationAccountsTest, ARecordHasTheNamesAndGoalsOfItsRequest) {
  SimulatedArrival arrival = ArrivalAt(1);
  arrival.tenant = TenantId(77);
  accounts_.Offer(arrival);
  arrival.tenant_name = "acme";
  accounts_.Offer(arrival);

  const SimulationOutcome outcome = Finish();

  ASSERT_EQ(outcome.records.size(), 2u);
  EXPECT_EQ(outcome.records[0].model, "m");
  EXPECT_EQ(outcome.records[0].tenant, "77");
  EXPECT_EQ(outcome.records[1].tenant, "acme");
  EXPECT_EQ(outcome.records[0].service_class, "standard");
  EXPECT_EQ(outcome.records[0].goals.ttft, Duration::Seconds(2));
  EXPECT_EQ(outcome.records[0].fate, Fate::kFailed) << "a request without an end did not finish";
}

TEST_F(SimulationAccountsTest, TheFirstForwardGivesTheQueueWaitTheLastOneTheReplica) {
  accounts_.Offer(ArrivalAt(1));
  Forward forward;
  forward.request = RequestId(0);
  forward.replica = ReplicaId(0);
  forward.waited = Duration::Seconds(3);
  accounts_.Forwarded(forward);
  forward.replica = ReplicaId(1);
  forward.waited = Duration::Seconds(5);
  accounts_.Forwarded(forward);
  EXPECT_FALSE(accounts_.HasBegun(0));
  accounts_.Delivered(0, At(2.5));
  EXPECT_TRUE(accounts_.HasBegun(0));
  accounts_.Ended(0, Fate::kFinished, "", At(2.5));

  const SimulationOutcome outcome = Finish();

  EXPECT_EQ(outcome.records[0].queue_wait, Duration::Seconds(3));
  EXPECT_EQ(outcome.records[0].replica, "r1");
  EXPECT_EQ(outcome.records[0].gpu, "gpu1");
  EXPECT_TRUE(outcome.records[0].OnTime());
}

TEST_F(SimulationAccountsTest, TokensComputedAgainAfterTheWindowDoNotCount) {
  accounts_.CountRecomputed(Tokens(30));
  accounts_.EndWindow(Totals(0, 5));
  accounts_.CountRecomputed(Tokens(100));
  EXPECT_EQ(accounts_.Finish(Totals(2, 400), CoreView(), At(20)).recomputed_tokens, 35);
}

TEST_F(SimulationAccountsTest, ARunThatEndsBeforeItsWindowCountsAllItComputedAgain) {
  accounts_.CountRecomputed(Tokens(30));
  const SimulationOutcome outcome = accounts_.Finish(Totals(2, 400), CoreView(), At(4));
  EXPECT_EQ(outcome.recomputed_tokens, 430);
  EXPECT_EQ(outcome.preemptions, 2);
  EXPECT_DOUBLE_EQ(outcome.gpu_time[0].total(), 10) << "the GPUs' time is settled up to the window's end";
}

TEST_F(SimulationAccountsTest, WaitingRequestsBlockTheGpus) {
  const SimulatedArrival arrival = ArrivalAt(1);
  accounts_.Offer(arrival);
  RequestArrived event;
  event.model = arrival.model;
  accounts_.Observe(event, At(1), {Park{}});
  accounts_.Observe(RequestClosed{}, At(4), {});
  EXPECT_DOUBLE_EQ(Finish().gpu_time[0][GpuState::kWaiting], 3);
}

TEST_F(SimulationAccountsTest, StrandedMemoryHasItsPoolAndItsTime) {
  SimulatedFleetSpec spec = FleetOf(1);
  spec.fleet.pools.resize(2);
  spec.fleet.pools[1].capacity = Amount(1000);
  SimulationAccounts accounts(spec, Duration::Seconds(10));
  accounts.SampleWork({}, {{ModelId(0)}, {{PoolId(1), Amount(400)}}}, At(2));
  accounts.SampleWork({}, {}, At(7));
  const SimulationOutcome outcome = accounts.Finish(Totals(0, 0), CoreView(), At(20));
  EXPECT_DOUBLE_EQ(outcome.stranded[1].amount_seconds, 2000);
  EXPECT_DOUBLE_EQ(outcome.stranded[1].seconds, 5);
  ASSERT_EQ(outcome.stranded_series.size(), StrandedSeries::kSlices);
  EXPECT_NEAR(outcome.stranded_series[StrandedSeries::kSlices / 2], 0.2, 1e-9) << "the mean of both pools";
  EXPECT_NEAR(outcome.stranded_series.back(), 0, 1e-9);
}

TEST_F(SimulationAccountsTest, AForecastErrorIsTakenOnce) {
  SimulatedFleetSpec spec = FleetOf(1);
  spec.fleet.pools.resize(1);
  SimulationAccounts accounts(spec, Duration::Seconds(10));
  CoreView view;
  view.pools.resize(1);
  view.pools[0].forecast_errors[0] = {0.25, 0.1, 0.1, 1};
  accounts.TakeForecastErrors(view);
  accounts.TakeForecastErrors(view);
  view.pools[0].forecast_errors[0] = {-0.5, 0.1, 0.1, 2};
  accounts.TakeForecastErrors(view);
  const std::vector<PoolView::ForecastError> taken =
      accounts.Finish({0, 0, std::vector<StepTime>(2)}, CoreView(), At(10)).pool_errors[0];
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].error, 0.25);
  EXPECT_EQ(taken[1].error, -0.5);
}

}  // namespace
}  // namespace penstock::bench
