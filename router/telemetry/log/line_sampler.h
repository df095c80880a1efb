// Lets a few lines of one reason pass per second, so that a flood of equal events cannot fill the log. Thread-safe.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_LINE_SAMPLER_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_LINE_SAMPLER_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/units.h"

namespace penstock {

class LineSampler {
 public:
  static constexpr int kLinesPerSecond = 5;

  // The lines that were left out since the last one that passed. Unset: this one is left out too. Two threads at the
  // turn of a second may let a line more pass.
  std::optional<int64_t> Take(Instant now) {
    const int64_t second = now.nanoseconds() / 1'000'000'000;
    int64_t seen = second_.load(std::memory_order_relaxed);
    if (seen != second && second_.compare_exchange_strong(seen, second, std::memory_order_relaxed)) {
      lines_.store(0, std::memory_order_relaxed);
    }
    if (lines_.fetch_add(1, std::memory_order_relaxed) < kLinesPerSecond) {
      return left_out_.exchange(0, std::memory_order_relaxed);
    }
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }

 private:
  std::atomic<int64_t> second_{-1};
  std::atomic<int> lines_{0};
  std::atomic<int64_t> left_out_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LOG_LINE_SAMPLER_H_
