// Speculative decoding in a simulated engine: the tokens that a sequence makes in one step. Pure.
#ifndef PENSTOCK_BACKENDS_SIMULATED_MACHINE_SPECULATION_H_
#define PENSTOCK_BACKENDS_SIMULATED_MACHINE_SPECULATION_H_

#include <algorithm>
#include <cstdint>

#include "backends/simulated/machine/mix.h"

namespace penstock::simulated {

// A whole number of at least 1 and at most `most`. Over many steps, its mean is `mean`. `generated` and `serial` choose
// the draw. The step of a prompt makes one token: there is nothing to verify yet.
inline int64_t TokensOfStep(double mean, uint64_t serial, int64_t generated, int64_t most) {
  if (mean <= 1 || generated == 0) return 1;
  const double drawn = Uniform(Mix(serial, static_cast<uint64_t>(generated)));
  return std::max<int64_t>(1, std::min(static_cast<int64_t>(mean + drawn), most));
}

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MACHINE_SPECULATION_H_
