// The requests of the router on their way to the thread that follows the caches of engines.
//
// The holder of the core's lock puts in, the thread takes out. Never waits for the thread: beyond kMost entries it
// drops all that it has, and says so. Costs nothing while nobody follows. Thread-safe.
#ifndef PENSTOCK_ROUTER_LIVE_KV_EVENTS_RUN_TAP_H_
#define PENSTOCK_ROUTER_LIVE_KV_EVENTS_RUN_TAP_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "router/kv_events/run_book.h"

namespace penstock {

class RunTap {
 public:
  static constexpr size_t kMost = 65'536;

  void Open(bool open) { open_.store(open, std::memory_order_relaxed); }
  void See(const Event& event, Instant now, const std::vector<Action>& actions) {
    if (!open_.load(std::memory_order_relaxed)) return;
    std::lock_guard lock(mutex_);
    if (seen_.size() >= kMost) {
      missed_ += static_cast<int64_t>(seen_.size());
      seen_.clear();
    }
    SeeRuns(event, now, actions, seen_);
  }
  // In their order. `missed`: entries that were dropped before them.
  std::vector<SeenAt> Take(int64_t& missed) {
    std::lock_guard lock(mutex_);
    missed = std::exchange(missed_, 0);
    return std::exchange(seen_, {});
  }

 private:
  std::atomic<bool> open_{false};
  std::mutex mutex_;  // Guards the fields below.
  std::vector<SeenAt> seen_;
  int64_t missed_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_KV_EVENTS_RUN_TAP_H_
