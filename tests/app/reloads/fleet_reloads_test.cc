// Reloads at random: PENSTOCK_RELOAD_SEEDS seeds from PENSTOCK_RELOAD_SEED on, every promise checked after every event.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/app/reloads/reload_world.h"
#include "tests/core/choices.h"

namespace penstock::testing {
namespace {

constexpr int kStepsPerSeed = 400;
#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kSeeds = 50;
#else
constexpr uint64_t kSeeds = 100;
#endif

TEST(FleetUnderReloads, EveryPromiseHoldsAfterEveryEvent) {
  const uint64_t first = FromEnvironment("PENSTOCK_RELOAD_SEED", 1);
  const uint64_t count = FromEnvironment("PENSTOCK_RELOAD_SEEDS", kSeeds);
  ReloadWorld::Counts all;
  ReloadedFleet::Counts fleets;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Choices choices(seed);
    ReloadWorld world(choices);
    for (int i = 0; i < kStepsPerSeed && world.broken().empty(); ++i) world.Step();
    if (world.broken().empty()) world.Calm();
    ASSERT_EQ(world.broken(), "") << "seed " << seed << "\n"
                                  << world.History() << "replay: PENSTOCK_RELOAD_SEED=" << seed
                                  << " PENSTOCK_RELOAD_SEEDS=1 ctest --preset release -R fleet_reloads_test -V";
    all.arrivals += world.counts().arrivals;
    all.forwards += world.counts().forwards;
    all.paired += world.counts().paired;
    all.orders += world.counts().orders;
    fleets.reloads += world.fleet().counts().reloads;
    fleets.refused += world.fleet().counts().refused;
    fleets.vacated += world.fleet().counts().vacated;
  }
  std::printf("%llu seeds: %lld arrivals, %lld forwards, %lld on pairs, %lld orders, %lld reloads, %lld places freed\n",
              static_cast<unsigned long long>(count), static_cast<long long>(all.arrivals),
              static_cast<long long>(all.forwards), static_cast<long long>(all.paired),
              static_cast<long long>(all.orders), static_cast<long long>(fleets.reloads),
              static_cast<long long>(fleets.vacated));
  // A world in which little happens would hide everything.
  if (count >= 50) {
    EXPECT_GT(all.forwards, all.arrivals / 4);
    EXPECT_GT(all.paired, 0);
    EXPECT_GT(all.orders, 0);
    EXPECT_GT(fleets.vacated, 0);
    EXPECT_GT(fleets.reloads, fleets.refused);
  }
}

}  // namespace
}  // namespace penstock::testing
