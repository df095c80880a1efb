// The sleep of a simulated engine, as vLLM's: a sleeping engine accepts requests and lets them wait.
//
// Engines of one GPU share its memory. An engine that does not fit beside the awake ones cannot wake. Tests choose the
// way in which the engine plays its verbs. Used on one thread.
#ifndef PENSTOCK_BACKENDS_SIMULATED_ENGINE_SLEEP_STATE_H_
#define PENSTOCK_BACKENDS_SIMULATED_ENGINE_SLEEP_STATE_H_

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace penstock::simulated {

// The memory of one GPU, as the engines on it take it.
struct DeviceMemory {
  Bytes size{0};
  Bytes used{0};
};

class SleepState {
 public:
  enum class Play : uint8_t {
    kWell,
    kFail,   // Verbs end with an error.
    kNever,  // Verbs do not end.
    kLie,    // Verbs do nothing, and the engine says that it sleeps.
  };

  // An engine without sleep, which is always awake.
  SleepState() = default;
  // `devices` must outlive it. It is awake where its memory is free, else asleep.
  SleepState(Bytes resident, std::vector<DeviceMemory*> devices, Duration wake);

  bool has_verbs() const { return has_verbs_; }
  Duration wake_time() const { return wake_; }
  bool asleep() const { return asleep_; }
  bool says_asleep() const { return asleep_ || play_ == Play::kLie; }
  Play play() const { return play_; }
  void SetPlay(Play play) { play_ = play; }

  void Sleep();
  // False: its memory is not free.
  bool Wake();

 private:
  bool Fits() const;

  bool has_verbs_ = false;
  bool asleep_ = false;
  Play play_ = Play::kWell;
  Bytes resident_{0};
  std::vector<DeviceMemory*> devices_;
  Duration wake_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_ENGINE_SLEEP_STATE_H_
