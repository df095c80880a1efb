// The process's monotonic clock as Instants. The only place of the edge that reads it.
#ifndef PENSTOCK_BASE_CLOCK_H_
#define PENSTOCK_BASE_CLOCK_H_

#include <chrono>

#include "base/units.h"

namespace penstock {

inline Instant Now() {
  return Instant::FromNanoseconds(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

inline std::chrono::steady_clock::time_point ToTimePoint(Instant at) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at.nanoseconds()));
}

inline std::chrono::nanoseconds ToChrono(Duration d) { return std::chrono::nanoseconds(d.nanoseconds()); }

}  // namespace penstock

#endif  // PENSTOCK_BASE_CLOCK_H_
