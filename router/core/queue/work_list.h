// The work that an event left to do: which replicas opened, which lanes have to be pumped, what it may still cost.
//
// A request that was tried everywhere is tried again only on replicas that opened. The few guards that ease with time
// alone ask about running requests, and those open their replica soon. Invariant: a replica is listed once as opened,
// from Open to ClearOpened. Owned by Rooms. Every operation is O(1) but Open: O(members of the replica's pools).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_WORK_LIST_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_WORK_LIST_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "router/core/books/fleet_state.h"

namespace penstock {

// Tries on replicas that did not change, and refusals, that one event may pay for. So the cost of an Apply has a bound
// that does not depend on the number of replicas; bench/results/decision-cost.md has the measured one.
inline constexpr size_t kTriesPerEvent = 48;
// A refusal costs about as much as two tries.
inline constexpr size_t kRefusalTries = 2;
// A dispatch in a large fleet: its books are in no cache of the processor.
inline constexpr size_t kDispatchTries = 6;

class WorkList {
 public:
  explicit WorkList(const FleetState& fleet) : fleet_(fleet) {}

  // The fleet has a new description: every lane is to be pumped.
  void Configure(size_t lanes);

  void StartEvent() { budget_ = kTriesPerEvent; }
  size_t budget() const { return budget_; }
  // Work that was done counts as so many tries, as far as the event has them left.
  void Charge(size_t tries) { budget_ -= std::min(budget_, tries); }
  // Pays for tries; false, and nothing is paid, when the event has too little left.
  bool Spend(size_t tries);

  // A change of the replica may let a request in. The other members of its pools open too: it may have freed memory.
  // An idle replica opens its neighbours, which become faster.
  void Open(const ReplicaState& replica);
  // Every member of the pool opens.
  void OpenPool(PoolId pool);
  // By position, in rising order once SortOpened was called.
  const std::vector<size_t>& opened() const { return opened_; }
  void SortOpened();
  void ClearOpened();

  bool Unfinished(ModelId model) const { return lanes_[model.value()].unfinished; }
  void SetUnfinished(ModelId model, bool unfinished) { lanes_[model.value()].unfinished = unfinished; }
  // A request of the lane was not looked at.
  void MarkUntried(ModelId model) { lanes_[model.value()].untried = true; }
  // A request left the lane; others behind it may not have been looked at.
  void LetOthersPast(ModelId model);

  // The number of the pump that begins or goes on.
  uint64_t StartPump() { return ++pumps_; }
  uint64_t pump() const { return pumps_; }
  // The pump is over; `untried`: some requests of the lane were not looked at and missed the opening.
  void EndPump(ModelId model, bool untried);
  // True: a request that pump `tried_at` looked at last has missed an opening since.
  bool Missed(ModelId model, uint64_t tried_at) const { return tried_at < lanes_[model.value()].skipped; }

 private:
  struct LaneWork {
    bool unfinished = false;  // It has to be pumped.
    bool untried = false;     // Some of its requests had no look at the replicas that opened last.
    uint64_t skipped = 0;     // The last pump that left some of its requests untried.
  };

  void OpenOne(size_t replica);

  const FleetState& fleet_;
  size_t budget_ = 0;
  uint64_t pumps_ = 0;
  std::vector<LaneWork> lanes_;  // One entry per model.
  std::vector<bool> is_open_;    // One entry per replica.
  std::vector<size_t> opened_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_WORK_LIST_H_
