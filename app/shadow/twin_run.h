// One policy on a simulated copy of the fleet, step by step, and what each request was worth there.
//
// The requests are numbered from zero. Their worth follows from the events, as in reality (router/shadow/service.h).
// One owner.
#ifndef PENSTOCK_APP_SHADOW_TWIN_RUN_H_
#define PENSTOCK_APP_SHADOW_TWIN_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "bench/simulation/fleet_simulation.h"
#include "router/core/contract/admission_core.h"
#include "router/shadow/service.h"

namespace penstock {

class TwinRun {
 public:
  struct Ended {
    uint64_t request = 0;
    Service service;
    bool refused = false;
  };

  TwinRun(bench::SimulatedFleetSpec spec, std::unique_ptr<AdmissionCore> core, uint64_t seed);
  TwinRun(const TwinRun&) = delete;
  TwinRun& operator=(const TwinRun&) = delete;

  // These three pass their arguments to the FleetSimulation.
  void AdvanceTo(Instant at) { simulation_.AdvanceTo(at); }
  uint64_t Offer(const bench::SimulatedArrival& arrival) { return simulation_.Offer(arrival); }
  void SetHealth(size_t replica, Health health, Instant at);

  // The requests that ended since the last call.
  std::vector<Ended> TakeEnded() { return std::exchange(ended_, {}); }

 private:
  struct Open {
    Instant arrived;
    ClassId service_class;
    bool observed = true;
    std::optional<Instant> first;
  };

  void See(const Event& event, Instant now, const std::vector<Action>& actions);
  void End(RequestId request, const RequestClosed* closed, Instant now);

  const std::vector<ClassSpec> classes_;
  const std::unique_ptr<AdmissionCore> core_;
  bench::FleetSimulation simulation_;
  absl::flat_hash_map<RequestId, Open> open_;
  std::vector<Ended> ended_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SHADOW_TWIN_RUN_H_
