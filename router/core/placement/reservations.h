// Memory that is reserved for waiting requests which only memory blocks.
//
// A reservation names a replica, and the instant from which on the replica's pools should hold the request beside their
// present members. Another request joins such a pool only where the pool would hold both from that instant
// on, with the confidence of the memory test. Before that instant the memory serves anybody, so little of it is idle.
// A request of a higher class or of about the same size may pass until the reserved one has used its patience. After
// that, requests of a higher class pause for a part of their goal, time and again, so that the pool drains. They do so
// for one with a deadline only: any number of others may wait, and each would cost the higher class some requests. A
// request that can be on time is never bound by one of its class or below that cannot. A reserved request that its
// tenant's share holds back binds nobody: it could not take the room. Invariant: a pool is reserved for at most one
// request. A request with a reservation waits, and every pool of its replica is reserved for it. Owned by Rooms.
// Against is O(1), and O(horizons) once in kFresh.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_RESERVATIONS_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_RESERVATIONS_H_

#include <optional>
#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/books/forecasts.h"

namespace penstock {

class Reservations {
 public:
  // `most`: reservations of a lane at a time.
  Reservations(const FleetState& fleet, const Forecasts& forecasts, size_t most)
      : fleet_(fleet), forecasts_(forecasts), most_(most) {}
  size_t most() const { return most_; }

  // The fleet has a new description: every reservation ends.
  void Configure();

  // True: no pool of the replica is reserved.
  bool Free(const ReplicaState& replica) const;
  // Reserves the pools of a free replica for the request from `at` on. Its patience ends at `strict`.
  void Reserve(RequestState* request, ReplicaId replica, Instant at, Instant strict);
  // The room is expected at another time. It never moves back: newcomers would delay it for ever.
  void BringForward(const RequestState& request, Instant at);
  // The reservation of the request ends, if it has one.
  void End(RequestState* request, Instant now);

  // The growth of the pool's reserved request, which must fit beside the newcomer; null where the newcomer is not
  // bound.
  const GrowthVector* Against(const RequestState& newcomer, PoolId pool, Instant now);
  // The contribution of a waiting request that joins the pool at `at`.
  GrowthVector GrowthFrom(Instant at, const RequestState& request, const ReplicaState& replica, const PoolShare& share,
                          Instant now) const;

  // True: this one may pause for a reserved request of a lower class, or could within one of its TTFT goals. Waits of
  // its class say nothing about the rate of the servers then.
  bool Disturbs(const RequestState& request, Instant now) const;
  // Puts the model's requests with a reservation into `out`, the oldest reservation first.
  void Of(ModelId model, std::vector<RequestState*>& out) const;
  // True: pools, requests and reservations agree.
  bool SumsHold() const;

 private:
  // The growth of a reserved request is computed anew after this: one sample of the streams.
  static constexpr Duration kFresh = Duration::Milliseconds(25);

  struct Reservation {
    RequestState* request;
    ReplicaId replica;
    Instant at;
  };
  struct ReservedPool {
    const RequestState* request = nullptr;  // Null: the pool is free.
    Instant strict;
    Instant made;
    GrowthVector growth;
  };

  const Reservation& OfRequest(const RequestState& request) const;
  // Classes above pause for the reserved request.
  bool Pauses(const RequestState& reserved) const { return fleet_.GoalsOf(reserved).refuse_late; }
  // The newcomer is not bound by the reserved request.
  bool MayPass(const RequestState& newcomer, const ReservedPool& reserved, Instant now) const;

  struct Ended {
    ClassId service_class;
    Instant at;
  };

  const FleetState& fleet_;
  const Forecasts& forecasts_;
  const size_t most_;
  std::vector<std::optional<Ended>> ended_;  // The last reservation of each model for which classes above paused.
  std::vector<Reservation> reservations_;    // The oldest first.
  std::vector<ReservedPool> pools_;          // One entry per pool.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_RESERVATIONS_H_
