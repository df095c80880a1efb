// The replicas of a large fleet that could take some request, by their floors: the index of a best-first search.
//
// Replicas where a request finds the same add to their floors form a group; a group stands in the order of its floors.
// So the least bound of a group is that of its first member. Replicas that take no request at all stand in no group;
// they are counted by reason. Invariant: a replica stands in one group or is counted once, as of its last Put. Owned by
// Floors. Put is O(log replicas).
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_FLOOR_ORDER_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_FLOOR_ORDER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "kvmodel/prefill_work.h"
#include "router/core/contract/wait_reason.h"

namespace penstock {

class FloorOrder {
 public:
  // The facts that decide how much a request adds to a floor, and by which test it may fail at once.
  struct Kind {
    int horizon = -1;  // As in Floors::Floor.
    double per_unit = 1;
    uint32_t footprint = 0;
    double context = 0;
    bool alone = false;        // A request may enter whatever its forecast.
    bool long_runway = false;  // Only cached prompts let a request in.

    auto Key() const { return std::tie(horizon, per_unit, footprint, context, alone, long_runway); }
    bool operator<(const Kind& other) const { return Key() < other.Key(); }
    bool operator==(const Kind& other) const { return Key() == other.Key(); }
  };
  struct Member {
    double share = 0;
    uint32_t replica = 0;
    PrefillPrice price;  // At least that of its prefill. It has no part in the order.

    bool operator<(const Member& other) const {
      return std::tie(share, replica) < std::tie(other.share, other.replica);
    }
  };
  using Members = absl::btree_set<Member>;
  struct Group {
    Members members;                                                // Not empty.
    double most_limit = 0;                                          // At least the limit of each member's floor.
    double least_runway = std::numeric_limits<double>::infinity();  // At most that of each member.
  };
  using Groups = absl::btree_map<Kind, Group>;

  const Groups& groups() const { return groups_; }
  // The highest ranked reason of the replicas that take no request; kNoReplicaUp where all take some.
  WaitReason closed() const;

  // The replica's floor and the price of its prefill, as a member of a group.
  void Put(size_t replica, const Kind& kind, double share, double limit, double runway, const PrefillPrice& price = {});
  // The replica takes no request.
  void Close(size_t replica, WaitReason reason);

 private:
  struct Spot {
    Kind kind;
    Member member;
    bool grouped = false;
    std::optional<WaitReason> closed;
  };

  Spot& SpotOf(size_t replica);
  // Takes the replica out of its group or its count.
  void Take(Spot& spot);

  Groups groups_;
  std::array<int64_t, kWaitReasonCount> closed_{};
  std::vector<Spot> spots_;  // One entry per replica.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_FLOOR_ORDER_H_
