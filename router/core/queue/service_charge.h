// The service that a request is charged, in the unit of the fleet's fairness: by forecast, then by its use.
//
// In tokens: prompt tokens, and output tokens twice. In memory: the KV memory at the middle of its output, times the
// seconds for which an engine holds it. The memory is that of the model's first server, so all replicas of a model have
// one unit. Invariant: a charge is not negative. A request that no engine took, or that its engine rejected, used
// nothing. Owned by Rooms. O(1).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_SERVICE_CHARGE_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_SERVICE_CHARGE_H_

#include "router/core/books/forecasts.h"
#include "router/core/books/servers.h"

namespace penstock {

class ServiceCharge {
 public:
  static constexpr double kOutputWeight = 2;

  ServiceCharge(const FleetState& fleet, const Servers& servers, const Forecasts& forecasts)
      : fleet_(fleet), servers_(servers), forecasts_(forecasts) {}

  // As of the arrival; 0 where tenants have no shares.
  double Expected(const RequestState& request) const;
  // The request, which an engine has, ended so. The forecast stands in for an unknown output of a finished request.
  double Used(const RequestState& request, const RequestClosed& closed, Instant now) const;

 private:
  double MemoryFor(const RequestState& request, double output, double seconds) const;
  const ReplicaState* FirstServer(ModelId model) const;

  const FleetState& fleet_;
  const Servers& servers_;
  const Forecasts& forecasts_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_SERVICE_CHARGE_H_
