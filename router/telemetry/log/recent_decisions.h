// The newest entries of the decision log, whether they are written or not. Thread-safe; a short lock.
//
// Nobody can read hundreds of entries a second, and each costs as much as a small decision. So of forwards and ends,
// the list takes kMostRoutine in each tenth of a second. It takes every entry of another kind.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_RECENT_DECISIONS_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_RECENT_DECISIONS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "router/telemetry/log/decision_log.h"

namespace penstock {

class RecentDecisions {
 public:
  // 0: none are stored.
  explicit RecentDecisions(size_t most) : ring_(most) {}

  // The list takes an entry of this kind at `now`. Counts it.
  bool Takes(DecisionEntry::Kind kind, Instant now) {
    if (ring_.empty()) return false;
    if (kind != DecisionEntry::Kind::kForward && kind != DecisionEntry::Kind::kEnd) return true;
    const auto window = static_cast<int64_t>(now.seconds() * kWindowsPerSecond);
    if (window_.exchange(window, std::memory_order_relaxed) != window) routine_.store(0, std::memory_order_relaxed);
    return routine_.fetch_add(1, std::memory_order_relaxed) < kMostRoutine;
  }
  // Cuts long texts to `longest` bytes: no client decides how much memory the list takes.
  void Add(DecisionEntry&& entry, double unix_seconds, size_t longest) {
    if (ring_.empty()) return;
    for (std::string* text : {&entry.request_id, &entry.model, &entry.service_class, &entry.tenant, &entry.client,
                              &entry.replica, &entry.reason, &entry.message}) {
      if (text->size() <= longest) continue;
      text->resize(longest);
      text->shrink_to_fit();
    }
    std::lock_guard lock(mutex_);
    RecentDecision& oldest = ring_[++numbered_ % ring_.size()];
    oldest.number = numbered_;
    oldest.unix_seconds = unix_seconds;
    oldest.entry = std::move(entry);
  }
  // Oldest first.
  std::vector<RecentDecision> All() const {
    std::vector<RecentDecision> newest;
    std::lock_guard lock(mutex_);
    const uint64_t count = std::min<uint64_t>(numbered_, ring_.size());
    for (uint64_t n = numbered_ - count + 1; n <= numbered_; ++n) newest.push_back(ring_[n % ring_.size()]);
    return newest;
  }

 private:
  static constexpr int kWindowsPerSecond = 10;
  static constexpr int kMostRoutine = 25;

  std::atomic<int64_t> window_{0};
  std::atomic<int> routine_{0};  // Forwards and ends in this window.
  mutable std::mutex mutex_;
  std::vector<RecentDecision> ring_;  // An entry with number n is at n modulo its size, which does not change.
  uint64_t numbered_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LOG_RECENT_DECISIONS_H_
