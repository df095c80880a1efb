// The exact future peak of requests of known lengths, as the Past-Future scheduler counts it (ASPLOS 2025): an oracle.
#ifndef PENSTOCK_TESTS_KVMODEL_PAST_FUTURE_PEAK_H_
#define PENSTOCK_TESTS_KVMODEL_PAST_FUTURE_PEAK_H_

#include <algorithm>
#include <vector>

#include "base/units.h"

namespace penstock {

// One running request of known remaining length.
struct Outstanding {
  Tokens held{0};
  Tokens remaining{0};
};
// The exact future peak when all advance one token per step and leave when done. It is the maximum over k of a sum. The
// terms are the held tokens of the k requests with the longest remaining length, and k times the k-th remaining length.
// O(n log n).
inline Tokens PastFuturePeak(std::vector<Outstanding> requests) {
  std::sort(requests.begin(), requests.end(),
            [](const Outstanding& a, const Outstanding& b) { return a.remaining > b.remaining; });
  Tokens peak{0};
  Tokens held{0};
  for (size_t k = 0; k < requests.size(); ++k) {
    held += requests[k].held;
    peak = std::max(peak, held + requests[k].remaining * static_cast<int64_t>(k + 1));
  }
  return peak;
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_KVMODEL_PAST_FUTURE_PEAK_H_
