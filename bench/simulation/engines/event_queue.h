// The virtual clock of a simulation and its pending events.
//
// Events come in the order of (time, sequence of scheduling), so equal runs are equal to the last event. Invariant: the
// clock never goes back. One owner; Schedule and Next cost O(log pending).
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_EVENT_QUEUE_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_EVENT_QUEUE_H_

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

class EventQueue {
 public:
  Instant now() const { return now_; }
  // The virtual time as a duration since the start of the run.
  Duration elapsed() const { return now_ - Instant(); }
  bool empty() const { return pending_.empty(); }

  // The time of the next event; Never: none is pending.
  Instant next_at() const { return pending_.empty() ? Instant::Never() : pending_.top().at; }

  // `at` is not before now().
  void Schedule(Instant at, Occurrence kind, uint64_t subject, uint64_t detail = 0) {
    assert(at >= now_);
    pending_.push({at, order_++, kind, subject, detail});
  }

  // Removes the next event and moves the clock to it. Not empty.
  Scheduled Next() {
    const Scheduled next = pending_.top();
    pending_.pop();
    now_ = next.at;
    return next;
  }

 private:
  Instant now_;
  uint64_t order_ = 0;
  std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> pending_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_EVENT_QUEUE_H_
