#include "bench/simulation/fluid_bound.h"

#include <gtest/gtest.h>

#include "tests/bench/simulation/simulation_fixture.h"

namespace penstock::bench {
namespace {

// The 70B model on four H100 with steps of 2,048 tokens.
SimulatedFleetSpec LargeModel(double e) {
  SimulatedFleetSpec spec = FleetOf(1, 200'000);
  spec.replicas[0].coefficients = {15.61, 0.0442, 0.0289, 0.0669, e};
  return spec;
}

TEST(IsFeasible, APromptOf131ThousandTokensNeedsThreeTimesItsLinearTime) {
  const SimulatedArrival arrival = ArrivalAt(0, 131'072);
  // 64 steps, 131,072 tokens: 9.77 s. 17,180 million pairs at 1.34 ms: 23.02 s.
  SimulatedFleetSpec quadratic = LargeModel(1.34);
  quadratic.fleet.classes[0].ttft = Duration::Seconds(32.7);
  EXPECT_FALSE(IsFeasible(quadratic, arrival));
  quadratic.fleet.classes[0].ttft = Duration::Seconds(32.9);
  EXPECT_TRUE(IsFeasible(quadratic, arrival));
  SimulatedFleetSpec linear = LargeModel(0);
  linear.fleet.classes[0].ttft = Duration::Seconds(9.8);
  EXPECT_TRUE(IsFeasible(linear, arrival));
}

TEST(NewPrefill, StandsBehindTheBlocksThatWereSeenBefore) {
  absl::flat_hash_set<uint64_t> seen;
  SimulatedArrival arrival = ArrivalAt(0, 2000);
  arrival.prefix = {1, 2, 3};
  EXPECT_EQ(NewPrefill(arrival, seen), PrefillOf(Tokens(0), Tokens(2000)));
  arrival.prefix = {1, 2, 9};
  EXPECT_EQ(NewPrefill(arrival, seen), PrefillOf(Tokens(1024), Tokens(2000)));
  arrival.prompt = Tokens(1024);
  EXPECT_EQ(NewPrefill(arrival, seen), PrefillOf(Tokens(1023), Tokens(1024)));
}

TEST(FluidBound, LongPromptsTakeTheGpuSecondsOfTheirPairs) {
  std::vector<SimulatedArrival> arrivals;
  for (int i = 0; i < 60; ++i) arrivals.push_back(ArrivalAt(i, 100'000, 200));
  const Duration window = Duration::Seconds(100);
  SimulatedFleetSpec quadratic = LargeModel(1.34);
  SimulatedFleetSpec linear = LargeModel(0);
  for (SimulatedFleetSpec* spec : {&quadratic, &linear}) spec->fleet.classes[0].ttft = Duration::Seconds(35);
  EXPECT_LT(FluidBound(quadratic, arrivals, window), 0.6 * FluidBound(linear, arrivals, window));
  EXPECT_LT(FluidOnTimeBound(quadratic, arrivals, window), FluidOnTimeBound(linear, arrivals, window));
}

TEST(FluidBound, ReplicasUnderMpsDoMoreTogetherThanOneAfterTheOther) {
  SimulatedFleetSpec spec = FleetOf(2, 100'000);
  for (SimulatedReplica& replica : spec.replicas) replica.gpus = {0};
  spec.gpus.pop_back();
  std::vector<SimulatedArrival> arrivals;
  for (int i = 0; i < 300; ++i) arrivals.push_back(ArrivalAt(i / 10.0, 4000, 10));
  const Duration window = Duration::Seconds(30);
  const double sliced = FluidBound(spec, arrivals, window);
  const double sliced_on_time = FluidOnTimeBound(spec, arrivals, window);
  EXPECT_EQ(WorkPerSecond(spec, 0), 1);
  spec.gpus[0] = simulated::Sharing::kMps;
  EXPECT_NEAR(WorkPerSecond(spec, 0), 2 / 1.19, 1e-9);
  EXPECT_GT(FluidBound(spec, arrivals, window), 1.3 * sliced);
  EXPECT_GT(FluidOnTimeBound(spec, arrivals, window), 1.3 * sliced_on_time);
}

}  // namespace
}  // namespace penstock::bench
