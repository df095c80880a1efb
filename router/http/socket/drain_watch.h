// Decides how long a client may still take to make room for the rest of an answer. Pure.
//
// Three things make a client too slow. It takes no byte for limits.write_timeout. It takes fewer bytes than
// limits.min_answer_rate while the router waits for it. One answer waits for limits.answer_timeout. The kernel holds
// bytes for the client and tells of room late. So a wait whose time is over goes on where the client took some of them.
// While the router drains, a client that takes no byte has a quarter of limits.drain_timeout at most.
#ifndef PENSTOCK_ROUTER_HTTP_SOCKET_DRAIN_WATCH_H_
#define PENSTOCK_ROUTER_HTTP_SOCKET_DRAIN_WATCH_H_

#include <algorithm>
#include <cstdint>
#include <optional>

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
      : rate_(limits.min_answer_rate),
        hurried_(Duration::Seconds(limits.drain_timeout.seconds() / 4)),
        pause_(limits.write_timeout),
        longest_(limits.answer_timeout) {}

  void BeginAnswer() {
    began_ = Instant();
    waited_ = Duration();
    taken_ = 0;
  }

  // The wait for room that begins now may last so long. Zero or less: the client is too slow. The kernel holds
  // `untaken` bytes for the client.
  Duration BeginWait(Instant now, uint64_t untaken) {
    if (began_ == Instant()) began_ = now;
    wait_began_ = now;
    untaken_ = untaken;
    counted_ = 0;
    waits_ = true;
    return Longest(now);
  }
  // The router drains, and does not wait any longer than it must.
  bool hurried() const { return hurries_; }
  // The router drains. The wait that is under way may last so long from now on; none: there is no wait.
  std::optional<Duration> Hurry(Instant now) {
    hurries_ = true;
    pause_ = std::min(pause_, hurried_);
    return waits_ ? std::optional(std::max(Duration(), Longest(now))) : std::nullopt;
  }
  // The time of the wait is over. It may go on for so long; zero or less: the client is too slow.
  Duration GoOn(Instant now, uint64_t untaken) {
    if (untaken >= untaken_) return Duration();
    CountWait(now);
    taken_ += untaken_ - untaken;
    counted_ += untaken_ - untaken;
    untaken_ = untaken;
    return Longest(now);
  }
  // The kernel then had room for `bytes`, so the client took as many.
  void EndWait(Instant now, uint64_t bytes) {
    CountWait(now);
    waits_ = false;
    taken_ += bytes - std::min(bytes, counted_);
  }

 private:
  Duration Longest(Instant now) const {
    return std::min({pause_, longest_ - (now - began_), TimeLeftAtRate(rate_, pause_, taken_, waited_)});
  }
  void CountWait(Instant now) {
    waited_ = waited_ + (now - wait_began_);
    wait_began_ = now;
  }

  const Bytes rate_;
  const Duration hurried_;
  Duration pause_;
  const Duration longest_;
  Instant began_;  // The first wait of the answer.
  Instant wait_began_;
  Duration waited_;
  bool waits_ = false;
  bool hurries_ = false;
  uint64_t taken_ = 0;
  uint64_t untaken_ = 0;  // As of the last look.
  uint64_t counted_ = 0;  // Bytes of the present wait that are in `taken_`.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_SOCKET_DRAIN_WATCH_H_
