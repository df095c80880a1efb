// The rules about lent memory: the streams that may be parked, the time until they are due back, and their long-run
// need.
//
// A stream may be parked where that pays and its client does not notice. Its class allows it, and its answer can be
// continued. Its replica makes tokens at more than three times the promised pace. The time away is much longer than the
// time to compute its context again. Invariant: a stream is parked at most kMostParkings times.
// Owned by Rooms; reads the fleet. Every function is O(1).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_LENDING_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_LENDING_H_

#include "router/core/books/fleet_state.h"

namespace penstock {

class Lending {
 public:
  // Times that one stream is parked: with two, streams that lend no more filled the pools of reasoning models.
  static constexpr int kMostParkings = 3;

  explicit Lending(FleetState& fleet) : fleet_(fleet) {}

  // From now on no stream may be parked.
  void Close() { closed_ = true; }
  bool closed() const { return closed_; }

  // The part of the time for which a running request must decode to stay on time. It is 1 where the request cannot be
  // parked. `pace`: tokens per second of its replica.
  double DutyOf(const RequestState& request, const ReplicaState& replica, double pace) const;
  // True: the stream is so far ahead that it may be parked now.
  bool MayPark(const RequestState& request, const ReplicaState& replica, double pace, Instant now) const;
  // The request's part of a pool of which it holds `held`.
  LendingPart PartOf(const RequestState& request, const ReplicaState& replica, Amount held, double pace,
                     Instant now) const;

  // An aborted stream is back from its engine: it lends what it held. Returns when it has to run again.
  Instant BeginLoan(RequestState* request);
  // Nothing where the request lends nothing.
  void EndLoan(RequestState* request);
  // Seconds to compute the whole context of the stream again, if it comes back to such a replica.
  double RestartOf(const RequestState& request, const ReplicaState& replica) const;
  // Seconds to compute again as much of its context as its engine has computed.
  double SunkCostOf(const RequestState& request, const ReplicaState& replica) const;

 private:
  // True: a pool of the replica has a relief of its own, and no memory to risk.
  bool OverflowsFatally(const ReplicaState& replica) const;

  FleetState& fleet_;
  bool closed_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_LENDING_H_
