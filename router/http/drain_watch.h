// Decides how long a client may still take to make room for the rest of an answer. Pure.
//
// Three things make a client too slow. It takes no byte for limits.write_timeout. It takes fewer bytes than
// limits.min_answer_rate while the router waits for it. One answer waits for limits.answer_timeout.
#ifndef PENSTOCK_ROUTER_HTTP_DRAIN_WATCH_H_
#define PENSTOCK_ROUTER_HTTP_DRAIN_WATCH_H_

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "config/config.h"

namespace penstock {

// The time that a peer may still need for its next byte, after it moved `bytes` in `spent`. A rate of zero: no bound.
inline Duration TimeLeftAtRate(Bytes per_second, Duration grace, uint64_t bytes, Duration spent) {
  if (per_second == Bytes(0)) return Duration::Infinite();
  return grace + Duration::Seconds(static_cast<double>(bytes) / static_cast<double>(per_second.value())) - spent;
}

class DrainWatch {
 public:
  explicit DrainWatch(const LimitsConfig& limits)
      : rate_(limits.min_answer_rate), pause_(limits.write_timeout), longest_(limits.answer_timeout) {}

  void BeginAnswer() {
    began_ = Instant();
    waited_ = Duration();
    taken_ = 0;
  }

  // The wait for room that begins now may last so long. Zero or less: the client is too slow.
  Duration BeginWait(Instant now) {
    if (began_ == Instant()) began_ = now;
    wait_began_ = now;
    return std::min({pause_, longest_ - (now - began_), TimeLeftAtRate(rate_, pause_, taken_, waited_)});
  }
  // The client then took `bytes`.
  void EndWait(Instant now, uint64_t bytes) {
    waited_ = waited_ + (now - wait_began_);
    taken_ += bytes;
  }

 private:
  const Bytes rate_;
  const Duration pause_;
  const Duration longest_;
  Instant began_;  // The first wait of the answer.
  Instant wait_began_;
  Duration waited_;
  uint64_t taken_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_DRAIN_WATCH_H_
