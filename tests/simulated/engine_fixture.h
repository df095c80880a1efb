// A small simulated engine for tests without a socket and without a clock.
#ifndef PENSTOCK_TESTS_SIMULATED_ENGINE_FIXTURE_H_
#define PENSTOCK_TESTS_SIMULATED_ENGINE_FIXTURE_H_

#include "backends/simulated/engine/engine.h"

namespace penstock::simulated {

// A pool of 1000 tokens and a step of 10 ms. `llama`: the dialect of llama-server.
inline EngineSpec SmallSpec(bool llama = false) {
  EngineSpec spec;
  spec.id = "chat-a";
  spec.model = "base";
  spec.aliases = {"alias"};
  spec.limits.kv_tokens = Tokens(1000);
  spec.limits.max_sequences = 4;
  if (llama) {
    spec.limits.overflow = Overflow::kError;
    spec.limits.block = Tokens(1);
    spec.limits.prefix_cache = false;
  }
  spec.step = StepCoefficients{10, 0, 0, 0, 0};
  return spec;
}

}  // namespace penstock::simulated

#endif  // PENSTOCK_TESTS_SIMULATED_ENGINE_FIXTURE_H_
