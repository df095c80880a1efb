// One pool inside the core: its growth forecast, its risk, and how good its forecasts were.
#ifndef PENSTOCK_ROUTER_CORE_POOL_STATE_H_
#define PENSTOCK_ROUTER_CORE_POOL_STATE_H_

#include <array>
#include <vector>

#include "kvmodel/growth_forecast.h"
#include "router/core/admission_core.h"
#include "router/core/fleet.h"
#include "router/core/risk_control.h"

namespace penstock {

// Horizons at which the pool forecast is checked against what came.
inline constexpr std::array<Duration, kForecastChecks> kForecastCheck = {Duration::Seconds(1), Duration::Seconds(10),
                                                                         Duration::Seconds(60)};

struct PoolState {
  PoolSpec spec;
  PoolGrowth growth;
  RiskControl risk;
  std::vector<ReplicaId> replicas;  // That take memory from it.

  // One sample of the forecast mean for each horizon, compared when its time has come with the held memory of the
  // members that were there when it was made (admitted up to `epoch`).
  struct Sample {
    bool open = false;
    Instant due;
    double mean = 0;
    uint64_t epoch = 0;
    double last_error = 0;  // Over capacity.
    int64_t compared = 0;
  };
  std::array<Sample, kForecastChecks> samples;
  uint64_t epoch = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_POOL_STATE_H_
