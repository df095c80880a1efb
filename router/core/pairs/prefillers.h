// The prefill replicas of each model, and the one that has a prompt computed and handed over first.
//
// A replica is closed while too many prompts wait in its engine behind the one that it computes. So the queue stays in
// the router, where it can still be changed. Invariant: the prefill replicas of a model are those of the Fleet that
// name it, have this role and are not removed, in rising order. Owned by Pairs. Choose is O(prefill replicas of the
// model x horizons).
#ifndef PENSTOCK_ROUTER_CORE_PAIRS_PREFILLERS_H_
#define PENSTOCK_ROUTER_CORE_PAIRS_PREFILLERS_H_

#include <optional>
#include <span>
#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/books/servers.h"
#include "router/core/pairs/prefill_line.h"
#include "router/core/placement/memory_test.h"

namespace penstock {

class Prefillers {
 public:
  // A replica that can take a prompt now.
  struct Offer {
    size_t replica = 0;   // Position.
    double own = 0;       // Seconds of its own prefill.
    double computed = 0;  // Seconds until it is computed.
    double ahead = 0;     // The same, and its cache handed over.
    double peak_share = 0;
  };

  // All outlive this object.
  Prefillers(const FleetState& fleet, const Servers& servers, MemoryTest& memory)
      : fleet_(fleet), servers_(servers), memory_(memory) {}

  // The fleet has a new description.
  void Configure();
  bool any() const { return any_; }
  // The positions of the model's prefill replicas, in rising order.
  const std::vector<size_t>& Of(ModelId model) const { return of_[model.value()]; }

  // True: one that is up and did not fail the request can hold its prompt.
  bool Serves(const RequestState& request) const;
  // Seconds on the fastest one if it were idle and had none of the prompt cached; 0: none is up.
  double Least(const RequestState& request) const;
  // The best of these replicas that can take `stage`, the first stage of `request`. Where none can, sets the wait
  // reason of `request`.
  std::optional<Offer> Choose(std::span<const size_t> replicas, const RequestState& stage, RequestState* request,
                              Instant now);
  // The contributions of the last offer to the pools of its replica.
  std::span<const GrowthVector> growth() const { return best_growth_; }

  PrefillLine& line(ReplicaId replica) { return lines_[replica.value()]; }
  // Seconds that the step model gives to so much prefill there, without the pace of the line.
  double SecondsOf(const ReplicaState& replica, const PrefillWork& work) const;
  // Seconds that the prompts in the replica's line take.
  double SecondsLeft(ReplicaId replica) const;
  // Seconds to hand over a cache.
  double TransferOf(ReplicaId replica, Tokens tokens) const;

 private:
  // The reason why the replica takes no prompt now; nullopt: it may.
  std::optional<WaitReason> Closed(const ReplicaState& replica) const;
  // The replica is up, can hold the prompt and did not fail the request.
  bool MayTake(size_t replica, const RequestState& request) const;

  const FleetState& fleet_;
  const Servers& servers_;
  MemoryTest& memory_;
  bool any_ = false;
  std::vector<std::vector<size_t>> of_;  // One list per model.
  std::vector<PrefillLine> lines_;       // One entry per replica.
  std::vector<GrowthVector> growth_;
  std::vector<GrowthVector> best_growth_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PAIRS_PREFILLERS_H_
