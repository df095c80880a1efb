// The demand for each model, and the part of it that waits and that awake replicas will not serve in time.
//
// While a server of the model wakes, its requests wait for that. While one is awake, the lane drains. Then only the
// requests count that are late before the lane has drained, and only once one of them has waited for a while. The
// oldest request may go on from what a sleeping server keeps. Then that server has to wake, whatever the others do.
// Owned by Residents; reads the queue. O(servers + classes) per question.
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_UNMET_DEMAND_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_UNMET_DEMAND_H_

#include <optional>
#include <vector>

#include "router/core/books/forecasts.h"
#include "router/core/books/servers.h"
#include "router/core/queue/waiting_room.h"
#include "router/core/residency/model_demand.h"

namespace penstock {

// Requests that a wake would serve.
struct Need {
  ModelId model;
  double tokens = 0;              // That they are expected to generate; 0: there are none.
  Instant due;                    // The TTFT goal of the first of them.
  std::optional<ReplicaId> home;  // It sleeps, and no other can take the first of them.
};

class UnmetDemand {
 public:
  UnmetDemand(const FleetState& fleet, const Servers& servers, const WaitingRoom& waiting, const Forecasts& forecasts)
      : fleet_(fleet), servers_(servers), waiting_(waiting), forecasts_(forecasts) {}

  void Configure();
  void Arrived(const RequestState& request, Instant now);

  Need Of(ModelId model, Instant now) const;
  // Tokens per second that arrivals of the replica's models ask of it, its awake copies taken off.
  double RateOf(const ReplicaState& replica, Instant now) const;
  // Tokens per second that arrivals of the model ask for.
  double RateOf(ModelId model, Instant now) const;
  // The tokens that would be late if the replica took nothing for `away` seconds. Arrivals wait for a part of their
  // TTFT goal, less the time that the oldest request of their class has waited.
  double LateWithout(const ReplicaState& replica, double away, Instant now) const;
  // True: no request of its models waits, parked streams included.
  bool NobodyWaitsFor(const ReplicaState& replica) const;

 private:
  // The requests of the lane beyond those that awake servers take in time.
  double LeftBehind(ModelId model, const RequestState& oldest, Instant now) const;
  // The request of the model that arrived first, as Lane::OldestReady() says; null: none waits.
  const RequestState* Oldest(ModelId model) const;
  const ModelDemand& DemandOf(ModelId model, ClassId service_class) const {
    return demand_[model.value() * classes_ + service_class.value()];
  }
  // The awake servers of the model; at least 1.
  double AwakeServers(ModelId model) const;

  const FleetState& fleet_;
  const Servers& servers_;
  const WaitingRoom& waiting_;
  const Forecasts& forecasts_;
  std::vector<ModelDemand> demand_;  // One entry per model and class.
  size_t classes_ = 0;               // As of the last description.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_UNMET_DEMAND_H_
