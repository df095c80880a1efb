// The waiting requests of one model: its classes in priority order, in a class the earliest place first.
//
// A place is the deadline of the first token, shifted as lane_order.h says. Requests whose TTFT goal no server could
// make stand in a best-effort order of their own, behind all others. One of them is a candidate at a time, so they
// block nobody. Parked streams stand apart and are no candidates until they are due back. Lower classes are guaranteed
// a share of the tokens that a lane dispatches. Every dispatched token earns each waiting lower class kGuaranteedShare
// of credit. A class whose credit covers its head goes first. Invariant: a request stands in one order and in the
// arrivals of its class from Push to Remove, and its place does not change meanwhile. Owned by WaitingRoom. Push and
// Remove are O(log n).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_LANE_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_LANE_H_

#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "router/core/books/request_state.h"
#include "router/core/queue/late_share.h"

namespace penstock {

// Requests that do not fit and that a pump looks past in a lane. The value of the reference simulation: a large prompt
// that blocks its lane costs tokens, and each further try costs time. No table in bench/results varies it.
inline constexpr int kLookPast = 12;
// Candidates of a class that a full class above it leaves: requests that cannot move do not hide a lower class.
inline constexpr size_t kLeastCandidates = 4;
// The share of requests refused for lateness from which on best effort waits. With 5 % or none, prompts of 100k tokens
// that no server could answer in time had 2 to 7 % more of the others refused.
inline constexpr double kMostLate = 0.02;

class Lane {
 public:
  explicit Lane(size_t classes) : classes_(classes) {}

  void Push(RequestState* request);
  void Remove(RequestState* request);
  // Moves a request that waits here to the other order of its class.
  void SetBestEffort(RequestState* request, bool best_effort);
  // A parked stream that waits here is due back: it is a candidate by the time at which it came back.
  void Return(RequestState* request, Instant now);
  void AddClasses(size_t classes);

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
  int64_t PositionOf(const RequestState& request) const;
  // The first request of the highest class that waits. The lane is not empty.
  RequestState* First() const;
  // The class's request that arrived first, wherever it stands in the order; null when none waits. O(1).
  const RequestState* Oldest(ClassId service_class) const;

  // All waiting requests, class by class in order.
  void All(std::vector<RequestState*>& out) const;
  // The first requests in the order in which they should be tried. Heads that credit promotes come first, then the
  // first of each class, at last one of best effort. The classes share kLookPast + 1 candidates before that one.
  void Candidates(std::vector<RequestState*>& out) const;
  // Counts a dispatch: pays credit to the waiting lower classes and measures the drain rate.
  void Dispatched(const RequestState& request, Instant now);
  // A request was refused because it could not be on time any more.
  void RefusedLate(Instant now) { late_.Refused(now); }
  // True: more than kMostLate of the requests that can be on time were refused of late. Best effort waits, because it
  // would take GPU time from those.
  bool RefusesLate(Instant now) const { return late_.At(now) > kMostLate; }
  // The share of the requests that can be on time that was refused of late.
  double LateShareAt(Instant now) const { return late_.At(now); }
  // Requests per second that leave this lane, over the last ten seconds or so; 0 before the first.
  double DrainRate(Instant now) const;

  // True: the sizes of the classes add up. O(classes).
  bool SumHolds() const;

 private:
  struct Before {
    bool operator()(const RequestState* a, const RequestState* b) const {
      return std::pair(a->waiting.place, a->sequence) < std::pair(b->waiting.place, b->sequence);
    }
  };
  struct Earlier {
    bool operator()(const RequestState* a, const RequestState* b) const { return a->sequence < b->sequence; }
  };
  using Order = absl::btree_set<RequestState*, Before>;
  struct PerClass {
    Order waiting;
    Order best_effort;
    Order parked;
    absl::btree_set<RequestState*, Earlier> arrivals;
    double credit = 0;  // Tokens.

    bool empty() const { return arrivals.empty(); }
    bool ready() const { return !waiting.empty() || !best_effort.empty(); }
    Order& OrderOf(const RequestState& request) {
      if (request.waiting.parked) return parked;
      return request.waiting.best_effort ? best_effort : waiting;
    }
    RequestState* Head() const {
      if (!waiting.empty()) return *waiting.begin();
      return best_effort.empty() ? *parked.begin() : *best_effort.begin();
    }
  };
  // Candidates of each class that the classes above it leave.
  size_t LeastCandidates() const;

  std::vector<PerClass> classes_;
  int64_t size_ = 0;
  int64_t parked_ = 0;
  LateShare late_;
  double drain_weight_ = 0;  // Dispatches, decayed.
  Instant drain_at_;
  Instant first_dispatch_ = Instant::Never();
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_LANE_H_
