// The replicas that a waiting request is tried on now.
//
// A small fleet is searched whole. A large fleet is searched best first. Its replicas are tried in the order of their
// bounds (best_first.h), until the next bound is above the best score found. A search that ends so has the choice of a
// try on all replicas. Before a try, one horizon of the forecast mostly shows that the replica is not better. A search
// and an event pay for a bounded number of tries. Where they end before a replica was found, later events go on. Where
// they end later, the best one found is taken: of the searches of best_first_test.cc, one in thirty. Invariant: a
// request is tried on each server of its model once since it began to wait or a server opened. A server whose bound
// shows that it is not better counts as tried. Owned by Rooms. O(holders + groups) at the first try of a request,
// O(opened) after that.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_

#include <optional>
#include <vector>

#include "router/core/books/servers.h"
#include "router/core/placement/best_first.h"
#include "router/core/placement/floors.h"
#include "router/core/placement/guards.h"
#include "router/core/placement/score.h"
#include "router/core/queue/work_list.h"

namespace penstock {

// The effort of one search in a large fleet, in tries of a small one.
struct SearchEffort {
  // Until a replica was found. Later events go on, and an event that can pay for less begins no search.
  double first = 24;
  // After that. The bounds of the replicas that are left are mostly near each other then.
  double rest = 16;
  // Looks at bounds for one replica to try.
  size_t looks = 96;
};

class Search {
 public:
  // `guards`: those that the replicas are tested by.
  Search(const FleetState& fleet, const Servers& servers, const MemoryTest& memory, Floors& floors, WorkList& work,
         const std::vector<Guard>& guards, const SearchEffort& effort = {});

  // Begins to search, or goes on. `needed` is the length that a replica must be able to hold. False: there is nothing
  // to try, or the event can pay for none.
  bool Begin(RequestState* request, Tokens needed, Instant now);
  // The position of the next replica to try. `best` is null before a replica took the request. There is none
  // where none is left or can be better than `best`, and where the event can pay for no more.
  std::optional<size_t> Next(const Choice* best);

  // GPU seconds that a whole pool is worth; nullopt in a small fleet, where the choices tell.
  std::optional<double> price() const { return price_; }
  // Why replicas were passed over so far without a try.
  WaitReason closed() const { return by_bound_ ? best_first_.closed() : WaitReason::kNoReplicaUp; }
  // True: no server is left to be tried.
  bool TriedEverywhere(const RequestState& request) const {
    return request.waiting.tries.everywhere || servers_.Of(request.arrived.model).empty();
  }

 private:
  bool BeginSmall();
  bool BeginLarge(Tokens needed);
  void AddOpened();
  // Replicas that opened are to be tried again.
  void ForgetOpened();
  std::optional<size_t> NextByBound(const Choice* best);
  bool IsWorse(const BestFirst::Candidate& candidate, const Choice& best) const;
  // True: one horizon shows that the replica's score is above that of `best`.
  bool LooksWorse(const BestFirst::Candidate& candidate, const Choice& best) const;
  // Pays for a part of a try, as far as the search and the event may cost so much. `found`: a replica took the request.
  bool Pay(double tries, bool found);
  // The event can pay for no more: another one goes on after the candidates that failed.
  void Interrupt();

  const FleetState& fleet_;
  const Servers& servers_;
  const MemoryTest& memory_;
  Floors& floors_;
  WorkList& work_;
  const SearchEffort effort_;
  // The search that began last.
  RequestState* request_ = nullptr;
  Instant now_;
  std::optional<double> price_;
  bool by_bound_ = false;
  // In tries.
  struct Account {
    double unpaid = 0;
    double left = 0;  // The search may still cost so many.
    bool found = false;
  };
  Account account_;
  BestFirst best_first_;
  size_t next_ = 0;               // In replicas_.
  std::vector<size_t> replicas_;  // All to try, in order; by bounds: those that were tried.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_
