// The residency of a replica: is its model in the memory of its GPUs?
#ifndef PENSTOCK_BASE_RESIDENCY_H_
#define PENSTOCK_BASE_RESIDENCY_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// The values stand in event logs.
enum class Residency : uint8_t {
  kAwake,
  kAsleep,  // Its memory is given back.
  kWaking,
  kFallingAsleep,
};

// The place of the weights of a replica that sleeps. The values stand in event logs.
enum class SleepLevel : uint8_t {
  kUnsaid,  // Its engine has one way to sleep, or nobody knows.
  kHost,    // The memory of its host. A wake copies them back.
  kDisk,    // Nowhere else: they are dropped, and a wake reads them again.
};

constexpr absl::string_view LabelOf(Residency residency) {
  constexpr absl::string_view kLabels[] = {"awake", "asleep", "waking", "falling_asleep"};
  return kLabels[static_cast<size_t>(residency)];
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_RESIDENCY_H_
