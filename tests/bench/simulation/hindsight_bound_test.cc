#include "bench/simulation/hindsight_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/generator.h"
#include "bench/simulation/fleet_simulation.h"
#include "bench/simulation/simulation_report.h"
#include "tests/bench/simulation/simulation_fixture.h"

namespace penstock::bench {
namespace {

constexpr Duration kWindow = Duration::Seconds(4);

// Forwards what arrives to the one replica.
class SendsAll : public AdmissionCore {
 public:
  void Apply(const Event& event, Instant, std::vector<Action>& actions) override {
    const auto* arrived = std::get_if<RequestArrived>(&event);
    if (arrived == nullptr) return;
    Forward forward;
    forward.request = arrived->request;
    forward.replica = ReplicaId(0);
    actions.push_back(forward);
  }
  std::optional<Instant> NextDeadline() const override { return std::nullopt; }
  CoreView View(Instant) const override { return {}; }
  std::optional<WaitView> WaitOf(RequestId) const override { return std::nullopt; }
};

double ActiveOf(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals) {
  SendsAll core;
  SimulationOptions options;
  options.window = kWindow;
  SimulationOutcome outcome = FleetSimulation(spec, core, options).Run(arrivals);
  return ReportOf(spec, arrivals, kWindow, std::move(outcome)).results.active_tokens_per_s;
}

// The most active tokens of any subset of the requests, in any order. Where all of them arrive at once, and an engine
// takes them in the order that they came, nothing is better in hindsight.
double BestOf(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals) {
  double best = 0;
  std::vector<size_t> order(arrivals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    std::vector<SimulatedArrival> chosen;
    for (const size_t position : order) {
      chosen.push_back(arrivals[position]);
      best = std::max(best, ActiveOf(spec, chosen));
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

std::vector<SimulatedArrival> AtOnce(Generator& generator, int count, int64_t prompt, int64_t output) {
  std::vector<SimulatedArrival> arrivals;
  for (int i = 0; i < count; ++i) {
    const auto part = [&](int64_t most) {
      return most / 4 + static_cast<int64_t>(generator.Next() % static_cast<uint64_t>(most));
    };
    arrivals.push_back(ArrivalAt(0, part(prompt), part(output)));
  }
  return arrivals;
}

TEST(HindsightBound, NoOrderOfAnySubsetExceedsItWhereTimeBinds) {
  SimulatedFleetSpec spec = FleetOf(1, 100'000);
  spec.replicas[0].coefficients = {10, 1, 20, 0.2, 0};
  spec.fleet.classes[0].ttft = Duration::Seconds(0.8);
  for (const uint64_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    Generator generator(seed);
    const std::vector<SimulatedArrival> arrivals = AtOnce(generator, 5, 3000, 20);
    const double best = BestOf(spec, arrivals);
    const double bound = HindsightBound(spec, arrivals, kWindow);
    EXPECT_GT(best, 0);
    EXPECT_LE(best, bound);
  }
}

TEST(HindsightBound, NoOrderOfAnySubsetExceedsItWhereMemoryBinds) {
  SimulatedFleetSpec spec = FleetOf(1, 2048);
  spec.replicas[0].coefficients = {60, 0.1, 1, 0.01, 0};
  for (const uint64_t seed : {4u, 5u}) {
    SCOPED_TRACE(seed);
    Generator generator(seed);
    const std::vector<SimulatedArrival> arrivals = AtOnce(generator, 5, 1200, 30);
    const double best = BestOf(spec, arrivals);
    EXPECT_GT(best, 0);
    EXPECT_LE(best, HindsightBound(spec, arrivals, kWindow));
  }
}

TEST(HindsightBound, IsAllTokensWhereEverythingFits) {
  const SimulatedFleetSpec spec = FleetOf(2, 100'000);
  const std::vector<SimulatedArrival> arrivals = {ArrivalAt(0, 100, 5), ArrivalAt(1, 200, 7)};
  EXPECT_NEAR(HindsightBound(spec, arrivals, kWindow), 12 / kWindow.seconds(), 1e-9);
  EXPECT_EQ(HindsightBound(spec, {}, kWindow), 0);
}

TEST(HindsightBound, FallsBelowAllTokensWhereGpuTimeBinds) {
  const SimulatedFleetSpec spec = FleetOf(1, 100'000);
  const Duration window = Duration::Seconds(30);
  std::vector<SimulatedArrival> arrivals;
  for (int i = 0; i < 300; ++i) arrivals.push_back(ArrivalAt(i / 10.0, 4000, 10));
  // 30 s and the last goals give about 33 s for 300 prompts of 0.4 s.
  EXPECT_LT(HindsightBound(spec, arrivals, window), 0.4 * 300 * 10 / window.seconds());
}

}  // namespace
}  // namespace penstock::bench
