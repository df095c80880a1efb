// The replicas that a waiting request is tried on now.
//
// A small fleet is searched whole. A large fleet is searched best first. Each replica has a bound that the score of no
// request falls below. It is the price of the replica's floor (floors.h) and of the least that the request adds to it
// (newcomer.h). The most that the cached prompt could save there is taken off. The replicas are tried in the order of
// their bounds, until the next bound is above the best score found. So the choice is that of a try on all replicas.
// Before a try, one horizon of the forecast mostly shows that the replica is not better. An event pays for a bounded
// number of tries. Where they end before a replica was found, later events go on. Where they end later, the best one
// found is taken. Invariant: a request is tried on each server of its model once since it began to wait or a server
// opened. A server whose bound shows that it is not better counts as tried. Owned by Rooms. O(servers) for a few
// nanoseconds at the first try of a request, O(opened) after that.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_

#include <optional>
#include <tuple>
#include <vector>

#include "router/core/books/servers.h"
#include "router/core/placement/floors.h"
#include "router/core/placement/guards.h"
#include "router/core/placement/newcomer.h"
#include "router/core/placement/score.h"
#include "router/core/queue/work_list.h"

namespace penstock {

class Search {
 public:
  // `guards`: those that the replicas are tested by.
  Search(const FleetState& fleet, const Servers& servers, const MemoryTest& memory, Floors& floors, WorkList& work,
         const std::vector<Guard>& guards);

  // Begins to search, or goes on. `needed` is the length that a replica must be able to hold. False: there is nothing
  // to try, or the event can pay for none.
  bool Begin(RequestState* request, Tokens needed, Instant now);
  // The position of the next replica to try. `best` is null before a replica took the request. There is none
  // where none is left or can be better than `best`, and where the event can pay for no more.
  std::optional<size_t> Next(const Choice* best);

  // GPU seconds that a whole pool is worth; nullopt in a small fleet, where the choices tell.
  std::optional<double> price() const { return price_; }
  // Why replicas were passed over that take no request at all.
  WaitReason closed() const { return closed_; }
  // True: no server is left to be tried.
  bool TriedEverywhere(const RequestState& request) const {
    return request.waiting.tried_everywhere || servers_.Of(request.arrived.model).empty();
  }

 private:
  // At most the scores of a replica, compared in order.
  struct Candidate {
    double cost = 0;
    double peak_share = 0;
    size_t replica = 0;

    auto Key() const { return std::tie(cost, peak_share, replica); }
  };

  // In candidates_.
  struct Position {
    size_t next = 0;
    size_t sorted = 0;  // So many stand in order.
  };

  bool BeginSmall();
  bool BeginLarge(Tokens needed);
  void AddOpened();
  // Replicas that opened are to be tried again.
  void ForgetOpened();
  // Why the replica surely takes no request with this floor and saving at most; nullopt decides nothing.
  std::optional<WaitReason> SurelyBroken(const Floors::Entry& entry, double share, double saved) const;
  // Fills candidates_ with the servers that the request was not tried on and could fit on.
  void AddBounds(Tokens needed);
  void SortMore();
  bool IsWorse(const Candidate& candidate, const Choice& best) const;
  // True: one horizon shows that the replica's score is above that of `best`.
  bool LooksWorse(const Candidate& candidate, const Choice& best) const;
  // Pays for a part of a try.
  bool Pay(double tries);
  // The event can pay for no more: another one goes on after the candidates that failed.
  void Interrupt(bool found);

  const FleetState& fleet_;
  const Servers& servers_;
  const MemoryTest& memory_;
  Floors& floors_;
  WorkList& work_;
  bool has_runway_guard_ = false;
  // The search that began last.
  RequestState* request_ = nullptr;
  Instant now_;
  std::optional<double> price_;
  WaitReason closed_ = WaitReason::kNoReplicaUp;
  bool by_bound_ = false;
  double unpaid_ = 0;  // Tries.
  Position at_;
  std::vector<Candidate> candidates_;
  Newcomer newcomer_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_
