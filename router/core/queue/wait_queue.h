// The waiting requests: a lane per model, in each lane the classes in priority order, in a class the earliest place
// first: the deadline of the first token, shifted as density_order.h says.
//
// Lower classes are guaranteed a share of what a lane dispatches: every dispatched token earns each waiting lower
// class kGuaranteedShare of credit, and a class whose credit covers its head goes first. A full pool blocks only the
// lanes that use it. Owned by PenstockCore. Push and Remove cost O(log n).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_WAIT_QUEUE_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_WAIT_QUEUE_H_

#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "router/core/books/request_state.h"

namespace penstock {

// How far a pump looks past requests that do not fit.
inline constexpr int kLookPast = 12;

class Lane {
 public:
  explicit Lane(size_t classes) : classes_(classes) {}

  void Push(RequestState* request);
  void Remove(RequestState* request);
  void AddClasses(size_t classes);

  bool empty() const { return size_ == 0; }
  int64_t size() const { return size_; }
  int64_t size(ClassId service_class) const {
    return static_cast<int64_t>(classes_[service_class.value()].waiting.size());
  }
  // Requests of the same class ahead of this one, whether it is in the lane or not. Counted up to kCountedAhead.
  static constexpr int64_t kCountedAhead = 200;
  int64_t PositionOf(const RequestState& request) const;
  // The first of the highest class that waits. The lane is not empty.
  RequestState* First() const;
  // Arrival of the class's oldest waiting request; nullptr when none.
  const RequestState* Oldest(ClassId service_class) const;

  // All waiting requests, class by class in order.
  void All(std::vector<RequestState*>& out) const;
  // The first requests in the order in which they should be tried.
  void Candidates(std::vector<RequestState*>& out) const;
  // Books a dispatch: pays credit to the waiting lower classes and measures the drain rate.
  void Dispatched(const RequestState& request, Instant now);
  // Requests per second that leave this lane, over the last ten seconds or so; 0 before the first.
  double DrainRate(Instant now) const;

 private:
  struct Before {
    bool operator()(const RequestState* a, const RequestState* b) const {
      return std::pair(a->deadline, a->sequence) < std::pair(b->deadline, b->sequence);
    }
  };
  struct PerClass {
    absl::btree_set<RequestState*, Before> waiting;
    double credit = 0;  // Tokens.
  };
  std::vector<PerClass> classes_;
  int64_t size_ = 0;
  double drain_weight_ = 0;  // Dispatches, decayed.
  Instant drain_at_;
  Instant first_dispatch_ = Instant::Never();
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_WAIT_QUEUE_H_
