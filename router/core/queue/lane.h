// The waiting requests of one model: its classes in priority order, in a class by tenant and place (fair_order.h).
//
// A place is the deadline of the first token, shifted as lane_order.h says. Requests whose TTFT goal no server could
// make stand in a best-effort order of their own, behind all others. One of a class is a candidate at a time, so they
// block nobody. A request that only some servers can take takes nobody's turn: others behind it may use the rest.
// Parked streams stand apart and are no candidates until they are due back. A class is guaranteed its share of the
// tokens that the classes above it dispatch. Each of them earns it credit while it waits. A class whose credit covers
// its head goes first. So does the oldest request of a class once it has waited for `promote_after`. Invariant: a
// request stands in one order and in the arrivals of its class from Push to Remove, and its place does not change
// meanwhile. Owned by WaitingRoom. Push and Remove are O(log n).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_LANE_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_LANE_H_

#include <vector>

#include "absl/container/btree_set.h"
#include "router/core/books/request_state.h"
#include "router/core/contract/fleet.h"
#include "router/core/queue/class_queue.h"
#include "router/core/queue/late_share.h"

namespace penstock {

// Requests that do not fit and that a pump looks past in a lane. The value of the reference simulation: a large prompt
// that blocks its lane costs tokens, and each further try costs time. No table in bench/results varies it.
inline constexpr int kLookPast = 12;
// A pump skips so many requests of a class that only some servers can take, behind kLookPast of them. Untuned.
inline constexpr int kMostSkipped = 200;
// Candidates of a class that a full class above it leaves: requests that cannot move do not hide a lower class.
inline constexpr size_t kLeastCandidates = 4;
// The share of requests refused for lateness from which on best effort waits. With 5 % or none, prompts of 100k tokens
// that no server could answer in time had 2 to 7 % more of the others refused.
inline constexpr double kMostLate = 0.02;
// TTFT goals for which it goes on waiting once nobody waits in its way (bench/rooms/waits.sh). Without an end, prompts
// of 9k tokens with a goal of 500 ms had half of the active tokens at a third of the load. With 4, documents on eight
// H100 had 7 % fewer above the knee.
inline constexpr double kContended = 16;

class Lane {
 public:
  // `terms` outlive the lane.
  Lane(size_t classes, FairTerms* terms) : terms_(terms) {
    while (classes_.size() < classes) classes_.emplace_back(terms);
  }
  // The classes or the terms changed. A class that is vacant now forgets what it learned, a `vacant` lane everything.
  void Configure(const std::vector<ClassSpec>& classes, bool vacant);

  void Push(RequestState* request);
  void Remove(RequestState* request);
  // Moves a request that waits here to the other order of its class.
  void SetBestEffort(RequestState* request, bool best_effort);
  // A parked stream that waits here is due back: it is a candidate by the time at which it came back.
  void Return(RequestState* request, Instant now);
  ClassQueue& ClassOf(const RequestState& request) { return classes_[request.arrived.service_class.value()]; }
  const ClassQueue& of(ClassId service_class) const { return classes_[service_class.value()]; }
  // True: a tenant that waits is too far ahead of others. O(classes).
  bool HoldsBack(Instant now) const;
  // Charges over weights of the requests that run.
  RunningCharges Running() const;

  bool empty() const { return size_ == 0; }
  int64_t size() const { return size_; }
  // The requests that may be candidates: all but parked streams.
  int64_t ready() const { return size_ - parked_; }
  int64_t size(ClassId service_class) const {
    return static_cast<int64_t>(classes_[service_class.value()].arrivals.size());
  }
  int64_t parked(ClassId service_class) const {
    return static_cast<int64_t>(classes_[service_class.value()].parked.size());
  }
  // Requests of the same class ahead of this one, whether it is in the lane or not. Counted up to kCountedAhead: a
  // position is a hint to a person.
  static constexpr int64_t kCountedAhead = 200;
  int64_t PositionOf(const RequestState& request, Instant now) const;
  // The first request of the highest class that waits. The lane is not empty.
  RequestState* First() const;
  // The same without parked streams; null: there is no other.
  RequestState* FirstReady() const;
  // The class's request that arrived first, wherever it stands in the order; null when none waits. O(1).
  const RequestState* Oldest(ClassId service_class) const;
  // The class's request that arrived first and that no engine had yet, else the first that came back from an engine.
  // Parked streams do not count. O(kCountedAhead).
  const RequestState* OldestReady(ClassId service_class) const;

  // All waiting requests, class by class in order.
  void All(std::vector<RequestState*>& out) const;
  // The first requests in the order in which they should be tried. Heads that credit promotes come first, then starved
  // ones, then the first of each class, at last one of best effort of each. The classes share kLookPast + 1 candidates
  // before those. Each class has kLookPast more that only some servers can take. Behind these, its requests of the same
  // kind are skipped, kMostSkipped of them. Best effort has kLookPast more of that kind.
  void Candidates(std::vector<RequestState*>& out, Instant now) const;
  // Counts a dispatch: charges the tenant, pays credit to the waiting lower classes and measures the drain rate.
  void Dispatched(RequestState& request, Instant now);
  // Requests per second that leave this lane, over the last ten seconds or so; 0 before the first.
  double DrainRate(Instant now) const;

  // True: the sizes of the classes add up. O(classes).
  bool SumHolds() const;

  // The requests that could not be on time any more, among all others. Whoever refuses one counts it.
  LateShare late;

 private:
  FairTerms* terms_;
  std::vector<ClassQueue> classes_;
  int64_t size_ = 0;
  int64_t parked_ = 0;
  double drain_weight_ = 0;  // Dispatches, decayed.
  Instant drain_at_;
  Instant first_dispatch_ = Instant::Never();
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_LANE_H_
