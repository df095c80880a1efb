// The bounds of the figures that an engine reports. A figure beyond them counts as not reported.
//
// An engine with a fault may report any number. The bounds are far above those of real engines. They keep sums and
// products within 64 bits, also in bytes. Pure.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_POSSIBLE_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_POSSIBLE_H_

#include <algorithm>
#include <cstdint>

#include "backends/engines/contract/discovery.h"

namespace penstock {

inline constexpr int kMostRequests = 1 << 20;
inline constexpr int64_t kMostPoolTokens = int64_t{1} << 36;
inline constexpr int64_t kMostBlockTokens = int64_t{1} << 20;
inline constexpr int64_t kMostCounted = 9'000'000'000'000'000;  // Since the engine's start.
inline constexpr double kMostUse = 16;                          // Over a capacity that the configuration may set low.

// Adds a reported number to a sum, which is negative before the first. Leaves an impossible number out.
template <class Number>
void AddReported(double value, Number most, Number* sum) {
  if (!(value >= 0 && value <= static_cast<double>(most))) return;
  *sum = std::min<Number>(most, std::max<Number>(*sum, 0) + static_cast<Number>(value));
}

// The used share of a capacity; -1 where it is impossible.
inline double PossibleUse(double share) { return share >= 0 && share <= kMostUse ? share : -1; }

// Sets impossible limits to zero.
void DropImpossible(Discovery& found);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_POSSIBLE_H_
