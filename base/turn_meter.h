// The longest turns of one loop. A turn is the work that a loop does without letting anything else run.
//
// One thread records, any thread reads. A record costs some loads and stores.
#ifndef PENSTOCK_BASE_TURN_METER_H_
#define PENSTOCK_BASE_TURN_METER_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace penstock {

class TurnMeter {
 public:
  // A longer turn counts.
  static constexpr Duration kLong = Duration::Milliseconds(1);
  static constexpr Duration kWindow = Duration::Seconds(30);

  void Record(Instant began, Instant ended) {
    const Duration took = ended - began;
    if (took > kLong) long_turns_.store(long_turns() + 1, std::memory_order_relaxed);
    const int64_t number = NumberOf(ended);
    Window& window = windows_[static_cast<size_t>(number) % windows_.size()];
    if (window.number.load(std::memory_order_relaxed) != number) {
      window.longest.store(0, std::memory_order_relaxed);
      window.number.store(number, std::memory_order_relaxed);
    }
    if (took.nanoseconds() > window.longest.load(std::memory_order_relaxed)) {
      window.longest.store(took.nanoseconds(), std::memory_order_relaxed);
    }
  }

  // Since start.
  int64_t long_turns() const { return long_turns_.load(std::memory_order_relaxed); }
  // The window of `now` and the one before count.
  Duration Longest(Instant now) const {
    int64_t longest = 0;
    for (const Window& window : windows_) {
      if (window.number.load(std::memory_order_relaxed) < NumberOf(now) - 1) continue;
      longest = std::max(longest, window.longest.load(std::memory_order_relaxed));
    }
    return Duration::Nanoseconds(longest);
  }

 private:
  struct Window {
    std::atomic<int64_t> number{-2};
    std::atomic<int64_t> longest{0};  // In nanoseconds.
  };
  static int64_t NumberOf(Instant at) { return at.nanoseconds() / kWindow.nanoseconds(); }

  std::array<Window, 2> windows_;
  std::atomic<int64_t> long_turns_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_TURN_METER_H_
