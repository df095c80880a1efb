// The virtual clock of a simulation and its pending events.
//
// Events come in the order of (time, sequence of scheduling), so equal runs are equal to the last event. A routine
// (reports, samples, pages, timers of the core) goes on though nothing happens. Where nothing but routine has come for
// kQuiet, its periods are left out up to kLead before the next other event. So idle time costs nothing. Invariant: the
// clock never goes back. One owner; Schedule and Next cost O(log pending).
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_EVENT_QUEUE_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_EVENT_QUEUE_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/units.h"

namespace penstock::bench {

enum class Occurrence : uint8_t {
  kArrival,  // A request reaches the router.
  kSubmit,   // A forwarded request reaches its engine.
  kStepEnd,
  kDeliver,  // The outcome of a step reaches the router.
  kMeasure,  // An engine's gauges are read.
  kReport,   // The read gauges reach the router.
  kSample,   // The router samples the progress of its streams.
  kTimer,    // The core's deadline.
  kVanish,   // A client goes away.
  kRequeue,  // An aborted request is back in the router.
  kDies,
  kRises,
  kDrains,  // A replica takes nothing new.
  kDozes,
  kWakes,
  kOrderEnds,    // An engine fell asleep or woke, as it was ordered.
  kAdapterEnds,  // An engine loaded an adapter, as it was ordered.
  kCacheReport,  // The news of an engine's prefix cache reach the router.
  kReadEnds,     // The reads of a node's storage that end first.
  kNodePage,     // The exporter of a node is read.
  kWindowEnd,
};

struct Scheduled {
  Instant at;
  uint64_t order = 0;
  Occurrence kind = Occurrence::kArrival;
  uint64_t subject = 0;  // A request, a replica or a position, by kind.
  uint64_t detail = 0;   // A serial number, by kind.
  bool operator>(const Scheduled& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
};

constexpr bool IsRoutine(Occurrence kind) {
  return kind == Occurrence::kMeasure || kind == Occurrence::kReport || kind == Occurrence::kSample ||
         kind == Occurrence::kNodePage || kind == Occurrence::kTimer;
}

class EventQueue {
 public:
  // Far above any period, so that rates and means of the core have settled before and after the time that is left out.
  static constexpr Duration kQuiet = Duration::Seconds(600);
  static constexpr Duration kLead = Duration::Seconds(60);

  Instant now() const { return now_; }
  // The virtual time as a duration since the start of the run.
  Duration elapsed() const { return now_ - Instant(); }
  bool empty() const { return routine_.empty() && others_.empty(); }

  // The time of the next event; Never: none is pending.
  Instant next_at() const { return empty() ? Instant::Never() : NextQueue().top().at; }

  // `at` is not before now().
  void Schedule(Instant at, Occurrence kind, uint64_t subject, uint64_t detail = 0) {
    assert(at >= now_);
    (IsRoutine(kind) ? routine_ : others_).push({at, order_++, kind, subject, detail});
  }

  // Removes the next event and moves the clock to it. Not empty.
  Scheduled Next() {
    Queue& queue = routine_is_next() ? routine_ : others_;
    const Scheduled next = queue.top();
    queue.pop();
    now_ = next.at;
    if (!IsRoutine(next.kind)) changed_at_ = now_;
    return next;
  }

  // The time from now to the next event of a routine with this period, where no request is in the fleet: whole periods.
  Duration IdlePause(Duration period) const {
    if (others_.empty() || now_ - changed_at_ < kQuiet) return period;
    const Duration idle = others_.top().at - now_ - kLead;
    return period * std::max<int64_t>(1, idle.nanoseconds() / period.nanoseconds());
  }

 private:
  using Queue = std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>>;

  bool routine_is_next() const { return others_.empty() || (!routine_.empty() && others_.top() > routine_.top()); }
  const Queue& NextQueue() const { return routine_is_next() ? routine_ : others_; }

  Instant now_;
  Instant changed_at_;  // The time of the last event that was no routine.
  uint64_t order_ = 0;
  Queue routine_;
  Queue others_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_EVENT_QUEUE_H_
