// The core under random faults: PENSTOCK_FAULT_SEEDS seeds from PENSTOCK_FAULT_SEED on, every promise checked after
// every event.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/core/choices.h"
#include "tests/core/fault_world.h"

namespace penstock::testing {
namespace {

constexpr int kStepsPerSeed = 250;

TEST(CoreUnderFaults, EveryPromiseHoldsAfterEveryEvent) {
  const uint64_t first = FromEnvironment("PENSTOCK_FAULT_SEED", 1);
  const uint64_t count = FromEnvironment("PENSTOCK_FAULT_SEEDS", 300);
  int64_t arrivals = 0, forwards = 0, aborts = 0, over_limit = 0;
  uint64_t digest = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Choices choices(seed);
    FaultWorld world(choices);
    for (int i = 0; i < kStepsPerSeed && world.core().broken().empty(); ++i) world.Step();
    if (world.core().broken().empty()) world.Calm();
    arrivals += world.arrivals();
    forwards += world.core().forwards();
    aborts += world.core().aborts();
    over_limit += world.core().over_limit();
    digest = digest * 31 + world.core().digest();
    ASSERT_EQ(world.core().broken(), "") << "seed " << seed << "\n"
                                         << world.core().History() << "replay: PENSTOCK_FAULT_SEED=" << seed
                                         << " PENSTOCK_FAULT_SEEDS=1 ctest --preset release -R core_faults_test -V";
  }
  std::printf("%llu seeds: %lld arrivals, %lld forwards, %lld aborts, %lld over a limit\n",
              static_cast<unsigned long long>(count), static_cast<long long>(arrivals),
              static_cast<long long>(forwards), static_cast<long long>(aborts), static_cast<long long>(over_limit));
  std::printf("actions of %llu seeds: %016llx\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(digest));
  // Faults that stop everything would hide everything.
  if (count >= 100) {
    EXPECT_GT(forwards, arrivals / 4);
    EXPECT_GT(aborts, 0);
    EXPECT_GT(over_limit, 0);
  }
}

}  // namespace
}  // namespace penstock::testing
