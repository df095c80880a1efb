// A shadow beside a whole simulated run: what it says is compared with what its policy really does on the same
// requests.
#include <gtest/gtest.h>

#include "app/shadow/fleet_twin.h"
#include "app/shadow/policy_shadow.h"
#include "bench/simulation/fleet_simulation.h"
#include "router/policies/policy_factory.h"
#include "tests/shadow/shadow_fleet.h"

namespace penstock {
namespace {

struct Truth {
  double on_time = 0;
  double active = 0;
};

Truth TruthOf(const bench::SimulationOutcome& outcome) {
  Truth truth;
  for (const bench::RequestRecord& record : outcome.records) {
    truth.on_time += record.OnTime() ? 1 : 0;
    truth.active += static_cast<double>(record.ActiveTokens());
  }
  truth.on_time /= static_cast<double>(outcome.records.size());
  return truth;
}

bench::SimulationOutcome Run(AdmissionCore& core, const std::vector<bench::SimulatedArrival>& arrivals,
                             const bench::FleetSimulation::Observer& observer) {
  bench::FleetSimulation simulation(*TwinOf(ShadowFleet(4), {}), core, {});
  simulation.Observe(observer);
  return simulation.Run(arrivals);
}

struct Watched {
  ShadowReport report;
  Truth truth;
};

Watched RunBeside(const std::string& decides, const std::string& shadow,
                  const std::vector<bench::SimulatedArrival>& arrivals) {
  const std::unique_ptr<AdmissionCore> core = MakePolicy(decides, 1);
  Instant newest;
  auto beside = PolicyShadow::Create({decides, shadow, 1, [&] { return core->View(newest); }});
  EXPECT_TRUE(beside.ok()) << beside.status();
  Watched watched;
  watched.truth =
      TruthOf(Run(*core, arrivals, [&](const Event& event, Instant now, const std::vector<Action>& actions) {
        newest = now;
        (*beside)->Take(event, now, actions);
        (*beside)->Work(now, [] { return true; });
      }));
  (*beside)->Work(newest + Duration::Seconds(600), [] { return true; });
  watched.report = (*beside)->Report(newest);
  return watched;
}

TEST(ShadowSimulation, APolicyAgreesWithItself) {
  for (const char* policy : {"penstock", "round_robin", "least_request", "threshold_gate"}) {
    const Watched watched = RunBeside(policy, policy, ShadowArrivals(5, 800, 25));
    EXPECT_GE(watched.report.compared, 800) << policy << ": those that were parked are placed twice";
    EXPECT_EQ(watched.report.agreed, watched.report.compared) << policy;
  }
}

TEST(ShadowSimulation, EveryPolicyCanBeAShadow) {
  for (const std::string& policy : KnownPolicyNames()) {
    const Watched watched = RunBeside("round_robin", policy, ShadowArrivals(6, 200, 30));
    EXPECT_EQ(watched.report.compared, 200) << policy;
    EXPECT_EQ(watched.report.resets, 0) << policy;
    int64_t ended = 0;
    for (const VerdictTally& tally : watched.report.verdicts) ended += tally.on_time + tally.late + tally.failed;
    EXPECT_EQ(ended, 200) << policy << ": round robin refuses none of these";
  }
}

// The estimate of the copies against a run of the policy on the same trace.
void ExpectGoodEstimate(const std::string& decides, const std::string& shadow, double rate) {
  const std::vector<bench::SimulatedArrival> arrivals = ShadowArrivals(7, 2000, rate);
  const Watched watched = RunBeside(decides, shadow, arrivals);
  const Truth truth = TruthOf(Run(*MakePolicy(shadow, 1), arrivals, nullptr));
  const CounterfactualReport& copies = watched.report.counterfactual;
  ASSERT_EQ(copies.unavailable, "");
  // Copies that start again leave out what ran.
  const double compared = static_cast<double>(copies.real.requests) / 2000;
  ASSERT_GT(compared, 0.9);
  EXPECT_NEAR(copies.real.OnTimeShare(), watched.truth.on_time, 0.03) << "the measure of the events";
  EXPECT_NEAR(copies.real.active / compared, watched.truth.active, 0.06 * watched.truth.active);
  EXPECT_NEAR(copies.decides.OnTimeShare(), watched.truth.on_time, 0.05) << "the copy of what decided";
  EXPECT_NEAR(copies.shadow.OnTimeShare(), truth.on_time, 0.05) << "the estimate";
  EXPECT_NEAR(copies.shadow.active / compared, truth.active, 0.06 * truth.active);
}

TEST(ShadowSimulation, TheWorthOfPenstockIsEstimatedWhileRoundRobinDecides) {
  ExpectGoodEstimate("round_robin", "penstock", 20);
  ExpectGoodEstimate("round_robin", "penstock", 45);
}

TEST(ShadowSimulation, TheWorthOfRoundRobinIsEstimatedWhilePenstockDecides) {
  ExpectGoodEstimate("penstock", "round_robin", 20);
}

TEST(ShadowSimulation, EqualRunsGiveEqualReports) {
  const auto run = [] {
    const Watched watched = RunBeside("round_robin", "penstock", ShadowArrivals(8, 400, 35));
    return std::tuple(watched.report.agreed, watched.report.counterfactual.shadow.active,
                      watched.report.counterfactual.decides.active, watched.report.forecast.expected);
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace penstock
