// The adapters of one replica that are loaded by order: which of them its engine has, and what it has shown so far.
//
//   absent --LoadAdapter--> loading --> loaded --LoadAdapter of another instead--> absent
// A load that fails, or does not end in time, is followed by a pause. Pauses double, up to kMostPause. Values; owned by
// Adapters.
#ifndef PENSTOCK_ROUTER_CORE_ADAPTERS_ADAPTER_STATE_H_
#define PENSTOCK_ROUTER_CORE_ADAPTERS_ADAPTER_STATE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "router/core/learning/wake_time.h"

namespace penstock {

struct AdapterState {
  enum class Place : uint8_t { kAbsent, kLoading, kLoaded };
  // Seconds of the first pause after a failure, and of the longest.
  static constexpr double kFirstPause = 2;
  static constexpr double kMostPause = 120;

  ModelId model;
  Place place = Place::kAbsent;
  Instant loaded_at;
  Instant last_used;
  Instant overdue_at = Instant::Never();  // While it loads: when the load counts as failed.
  Instant trusted_at;                     // It is not loaded again before.
  int failures = 0;                       // In a row.

  void Fail(Instant now) {
    const double pause = kFirstPause * static_cast<double>(int64_t{1} << std::min(failures, 10));
    ++failures;
    place = Place::kAbsent;
    trusted_at = now + Duration::Seconds(std::min(kMostPause, pause));
  }
};

// A replica that loads adapters.
struct AdapterHost {
  size_t replica = 0;
  std::vector<AdapterState> adapters;
  WakeTime load;  // The time of a load, learned.

  AdapterState* Find(ModelId model) {
    const auto found = std::find_if(adapters.begin(), adapters.end(),
                                    [model](const AdapterState& each) { return each.model == model; });
    return found == adapters.end() ? nullptr : &*found;
  }
  bool Loads() const {
    return std::any_of(adapters.begin(), adapters.end(),
                       [](const AdapterState& each) { return each.place == AdapterState::Place::kLoading; });
  }
  int64_t Loaded() const {
    return std::count_if(adapters.begin(), adapters.end(),
                         [](const AdapterState& each) { return each.place == AdapterState::Place::kLoaded; });
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADAPTERS_ADAPTER_STATE_H_
