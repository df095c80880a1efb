// Filter, then score: the replica that takes a waiting request now, or the reason why none does.
//
// The search names replicas, one after the other. Those that are placeable, can hold the prompt and did not fail the
// request are tested: by the guards, then by the memory test. Invariant: a Choice passed every test at the instant it
// was made. Owned by Rooms. O(tried replicas x (horizons + prefilling requests)); allocates nothing once its memory has
// grown.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_PLACEMENT_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_PLACEMENT_H_

#include <optional>
#include <span>
#include <vector>

#include "router/core/placement/guards.h"
#include "router/core/placement/memory_test.h"
#include "router/core/placement/score.h"
#include "router/core/placement/search.h"

namespace penstock {

// The own steps of a Choice of this replica. In a large fleet every copy counts as a first one: the index of the search
// has no order by copies. O(neighbours).
double OwnStepsAt(size_t replica, const RequestState& request, const FleetState& fleet, const Servers& servers);

class Placement {
 public:
  Placement(const FleetState& fleet, const Servers& servers, WorkList& work, MemoryTest& memory, Floors& floors,
            std::vector<Guard> guards, const SearchEffort& effort = {})
      : fleet_(fleet),
        servers_(servers),
        memory_(memory),
        floors_(floors),
        search_(fleet, servers, memory, floors, work, guards, effort),
        guards_(std::move(guards)),
        scores_(AllScores()) {}

  // The best of the replicas to try, among those whose first token is expected by `due`. Where none fits, sets the
  // request's wait reason.
  std::optional<Choice> Choose(RequestState* request, Instant now, Instant due = Instant::Never());
  // The replica as a choice, whatever the guards and the memory test say of it.
  Choice At(const RequestState& request, size_t replica, Instant now);
  // The request's contributions to the pools of the last choice; valid until the next call of Choose.
  std::span<const GrowthVector> GrowthOf(const Choice& choice) const {
    return std::span(growth_).subspan(choice.growth);
  }
  // The replicas that lacked only memory for the request of the last call of Choose, by position.
  const std::vector<size_t>& crowded() const { return crowded_; }
  // The replicas that lacked batch rows for it.
  const std::vector<size_t>& without_rows() const { return without_rows_; }
  // True: no server is left to be tried.
  bool TriedEverywhere(const RequestState& request) const { return search_.TriedEverywhere(request); }

 private:
  // True: a server that did not fail the request could take it.
  bool CanAvoid(const RequestState& request, Tokens needed) const;
  // True: a replica of an open node could take the request, which spares those of closed nodes. `can_avoid` as above.
  bool HasOpenServer(const RequestState& request, Tokens needed, bool can_avoid) const;
  // Times that the replica counts as fuller for a request that needs the storage of its node.
  double StorageFactor(const RequestState& request, const ReplicaState& replica, Instant now) const;
  // Adds the replica to choices_, or returns the reason why it cannot take the request.
  std::optional<WaitReason> Test(const RequestState& request, size_t replica, Instant now, Instant due);

  const FleetState& fleet_;
  const Servers& servers_;
  MemoryTest& memory_;
  Floors& floors_;
  Search search_;
  const std::vector<Guard> guards_;
  const std::vector<Score> scores_;
  std::vector<Choice> choices_;  // Those of the last call of Choose, and their contributions.
  std::vector<GrowthVector> growth_;
  std::vector<size_t> crowded_;
  std::vector<size_t> without_rows_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_PLACEMENT_H_
