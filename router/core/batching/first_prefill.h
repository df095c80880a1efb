// Requests that share a long prompt with one that an engine computes wait for it, and go where it is cached.
//
// A replica may be closed for a moment, by the very prefill that the request would hit. Another replica would take the
// request at once and compute the same prompt again. The request waits in the router instead where all of this holds:
//   worth      the wait is no longer than four times the GPU time that it saves
//   safe       the first token is expected within a part of the TTFT goal
//   memory     the pools of the replica have room for it
//   bounded    it has not waited for four times as long as it expected at first
// Requests that wait for a replica count as prefill ahead of the next one. So a burst spreads once the queue for one
// copy takes longer than another copy. In a large fleet a request that waits is looked at when its replica opens. Other
// replicas open all the time, and it left a good one already. Invariant: the work that is ahead at a replica is that of
// the requests that wait for it. Owned by Rooms. Waits is O(holders of the prompt x prefilling requests), in a large
// fleet O(kMostOffers x prefilling requests).
#ifndef PENSTOCK_ROUTER_CORE_BATCHING_FIRST_PREFILL_H_
#define PENSTOCK_ROUTER_CORE_BATCHING_FIRST_PREFILL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/books/servers.h"
#include "router/core/placement/guards.h"
#include "router/core/placement/memory_test.h"
#include "router/core/placement/placement.h"
#include "router/core/placement/score.h"

namespace penstock {

class FirstPrefill {
 public:
  // `on`: false in ablations, where no request waits.
  FirstPrefill(const FleetState& fleet, const Servers& servers, const MemoryTest& memory, WorkList& work, bool on)
      : fleet_(fleet), servers_(servers), memory_(memory), work_(work), on_(on) {}

  // The fleet has a new description.
  void Configure() { ahead_.resize(fleet_.replicas().size()); }

  // True: the request waits for a replica instead of taking `choice`. Its wait reason is set.
  bool Waits(RequestState* request, const Choice& choice, Instant now);
  // True: in a large fleet the request waits for a replica that did not open, so nothing is to be tried.
  bool WaitsOn(const RequestState& request) const;
  // The request, which waits for a replica, was tried there and cannot go there yet. Ends a wait in a large fleet that
  // is worth it no more, by the choice that the request left; true: it did.
  bool EndWhereVain(RequestState* request, Instant now);
  // Until when the request waits for a replica; Never: it waits for none.
  static Instant EndOf(const RequestState& request) {
    const CompanyState& company = request.waiting.company;
    return company.replica ? company.until : Instant::Never();
  }
  // The request waits for no replica any more.
  void End(RequestState* request);
  // True: the replica that the request waited for takes nobody now, so its wait has ended.
  bool EndWhereLost(RequestState* request);
  // True: the work that is ahead of each replica is that of these requests, which are all that wait.
  bool SumsHold(std::span<RequestState* const> waiting) const;

 private:
  struct Offer {
    size_t replica = 0;
    double first_token = 0;  // Seconds from now.
    double gain = 0;         // Worth of the GPU seconds that it saves over the choice, less the wait.
    PrefillWork own;         // The uncached part of the prompt.
  };
  // True: nothing but the prefill on its way, or the pace of its streams, keeps the replica closed.
  bool ClosedForAWhile(const GuardQuestion& question) const;
  // nullopt: the request does not wait for the replica.
  std::optional<Offer> OfferOf(const RequestState& request, size_t replica, const Choice& choice, Instant now) const;
  // The best of the replicas that hold most of the prompt. Many do in a large fleet: there a request stays with the
  // replica that it waits for while that is worth it.
  std::optional<Offer> BestOffer(const RequestState& request, const Choice& choice, Instant now);
  bool HasRoom(const RequestState& request, const ReplicaState& replica, Instant now) const;
  bool IsLarge(const RequestState& request) const { return servers_.Of(request.arrived.model).size() > kSmallFleet; }

  const FleetState& fleet_;
  const Servers& servers_;
  const MemoryTest& memory_;
  WorkList& work_;
  const std::vector<Guard> guards_ = AllGuards();
  const bool on_;
  std::vector<PrefillWork> ahead_;  // One entry per replica.
  Servers::Holders holders_;        // The memory of one call, reused by the next.
};

// The placement of requests that may wait for a prefill.
class PatientPlacement : public Placement {
 public:
  PatientPlacement(const FleetState& fleet, const Servers& servers, WorkList& work, MemoryTest& memory, Floors& floors,
                   std::vector<Guard> guards, const SearchEffort& effort, bool waits)
      : Placement(fleet, servers, work, memory, floors, std::move(guards), effort),
        first_prefill(fleet, servers, memory, work, waits) {}

  // The best of the replicas to try; none also where the request waits for the prefill of another one.
  std::optional<Choice> ChooseOrWait(RequestState* request, Instant now) {
    if (first_prefill.WaitsOn(*request)) return std::nullopt;
    std::optional<Choice> choice = Choose(request, now);
    if (!choice && first_prefill.EndWhereVain(request, now)) choice = Choose(request, now);
    if (choice && !first_prefill.Waits(request, *choice, now)) return choice;
    // The request waits by choice until a replica opens or its wait ends. A new search with each event would take all
    // tries of its lane. The search for the others would be due at once for ever.
    if (choice) request->waiting.tries.everywhere = true;
    // The replica that it waits for is closed on; the others were left by choice.
    if (request->waiting.company.replica) request->waiting.reason = WaitReason::kFirstPrefill;
    return std::nullopt;
  }

  FirstPrefill first_prefill;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BATCHING_FIRST_PREFILL_H_
