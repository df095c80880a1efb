// The servers of a large fleet in the order of their bounds for one request.
//
// A bound is at most the score of the request there. It is the price of the replica's floor (floors.h) and of the least
// that the request adds to it (newcomer.h). The most that its cached prompt could save is taken off. The servers that
// hold most of its prompt, and the one of its hint (hints.h), are bounded one by one. The others of a group
// (floor_order.h) follow in the order of their floors, as far as they are asked for. Servers that surely cannot take
// the request are passed over: whole groups at once, others when their turn comes. Invariant: no server that is not
// returned yet has a bound below one that was, unless fewer looks were asked for. Owned by Search; a walk ends with the
// event. Begin is O(holders + groups), Next O(log groups) for each server looked at.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_BEST_FIRST_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_BEST_FIRST_H_

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "router/core/books/servers.h"
#include "router/core/placement/floors.h"
#include "router/core/placement/newcomer.h"

namespace penstock {

class BestFirst {
 public:
  // At most the scores of a replica, compared in order.
  struct Candidate {
    double cost = 0;
    double peak_share = 0;
    size_t replica = 0;
    bool passed = false;  // It may take the request, as far as its floor tells.

    auto Key() const { return std::tie(cost, peak_share, replica); }
  };

  BestFirst(const Servers& servers, Floors& floors, bool has_runway_guard)
      : servers_(servers), floors_(floors), has_runway_guard_(has_runway_guard) {}

  // `needed` is the length that a replica must be able to hold, `price` that of a whole pool. `request` must outlive
  // the walk.
  void Begin(const RequestState& request, Tokens needed, double price, Instant now);
  // The candidate of the least bound; null: none is left. It stays first until Pop. After `most` looks at servers, the
  // least bound among those is taken as the least of all.
  const Candidate* First(size_t most);
  void Pop();

  // Why servers were passed over so far.
  WaitReason closed() const { return closed_; }
  // Servers looked at since the last call.
  size_t TakeLooks() { return std::exchange(looks_, 0); }

 private:
  // The members of a group from `next` on.
  struct Walk {
    double adds = 0;
    double most_limit = 0;
    FloorOrder::Members::const_iterator next;
    FloorOrder::Members::const_iterator end;
  };
  // The bound of the first of them.
  struct Head {
    Candidate bound;
    size_t walk = 0;
  };

  void AddGroup(const FloorOrder::Kind& kind, const FloorOrder::Group& group);
  // Puts the first member of the walk among the heads, unless the request fits on none of its members.
  void AddHead(size_t walk);
  // Bounds the first member of the first head.
  void Advance();
  bool Failed(size_t server) const;
  // The server holds most of the prompt, or the hint names it.
  bool StandsApart(size_t server) const;
  void BoundApart(ModelId model);
  // Bounds one server, which holds so much of the prompt at most: a candidate, unless it surely cannot take the
  // request.
  void Bound(size_t server, Tokens held);
  // The same for a member of a group: a candidate that has not passed yet.
  void Bound(const FloorOrder::Member& member, double adds);
  // True: the server may take the request, where it adds up to this share and saves so much at most.
  bool Passes(size_t server, double share, double saved);
  // Why the replica surely takes no request with this floor and saving at most; nullopt decides nothing.
  std::optional<WaitReason> SurelyBroken(const Floors::Entry& entry, double share, double saved) const;

  const Servers& servers_;
  Floors& floors_;
  const bool has_runway_guard_;
  const RequestState* request_ = nullptr;
  Tokens needed_{0};
  Instant now_;
  double price_ = 0;
  PrefillWork elsewhere_;  // At most the cached prefill of a server that is no holder.
  double most_saved_ = 0;  // At most what it saves.
  WaitReason closed_ = WaitReason::kNoReplicaUp;
  size_t looks_ = 0;
  Newcomer newcomer_;
  std::vector<Walk> walks_;
  std::vector<Head> heads_;            // A heap, the least bound first.
  std::vector<Candidate> candidates_;  // The same.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_BEST_FIRST_H_
