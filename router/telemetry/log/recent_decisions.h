// The newest entries of the decision log, whether they are written or not. Thread-safe; a short lock.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_RECENT_DECISIONS_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_RECENT_DECISIONS_H_

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "router/telemetry/log/decision_log.h"

namespace penstock {

class RecentDecisions {
 public:
  // 0: none are stored.
  explicit RecentDecisions(size_t most) : ring_(most) {}

  bool enabled() const { return !ring_.empty(); }
  // Cuts long texts to `longest` bytes: no client decides how much memory the list takes.
  void Add(const DecisionEntry& entry, double unix_seconds, size_t longest) {
    if (!enabled()) return;
    RecentDecision added{0, unix_seconds, entry};
    DecisionEntry& cut = added.entry;
    for (std::string* text : {&cut.request_id, &cut.model, &cut.service_class, &cut.tenant, &cut.client, &cut.replica,
                              &cut.reason, &cut.message}) {
      if (text->size() <= longest) continue;
      text->resize(longest);
      text->shrink_to_fit();
    }
    std::lock_guard lock(mutex_);
    added.number = ++numbered_;
    ring_[numbered_ % ring_.size()] = std::move(added);
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
  mutable std::mutex mutex_;
  std::vector<RecentDecision> ring_;  // An entry with number n is at n modulo its size, which does not change.
  uint64_t numbered_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LOG_RECENT_DECISIONS_H_
