// Fleets of prefill and decode replicas for tests of the core.
#ifndef PENSTOCK_TESTS_CORE_PAIRS_PAIR_FLEET_H_
#define PENSTOCK_TESTS_CORE_PAIRS_PAIR_FLEET_H_

#include "tests/core/core_test_support.h"

namespace penstock::testing {

inline constexpr uint32_t kPrefillA = 0, kPrefillB = 1, kDecode = 2;

// Two prefill replicas and one decode replica.
inline Fleet PairFleet(int64_t pool_tokens = 100'000) {
  FleetOptions options;
  options.replicas = 3;
  options.pool_tokens = pool_tokens;
  Fleet fleet = MakeFleet(options);
  for (const uint32_t id : {kPrefillA, kPrefillB}) {
    fleet.replicas[id].role = EngineRole::kPrefill;
    fleet.replicas[id].transfer = 1e-5;
  }
  fleet.replicas[kDecode].role = EngineRole::kDecode;
  return fleet;
}

// Its decode replica is too slow for a prompt of thousands of tokens.
inline Fleet SlowDecodeFleet() {
  Fleet fleet = PairFleet();
  fleet.replicas[kDecode].prior.d = 1;
  return fleet;
}

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_PAIRS_PAIR_FLEET_H_
