// One pool inside the core: its growth forecast, its risk, and how good its forecasts were.
#ifndef PENSTOCK_ROUTER_CORE_POOL_STATE_H_
#define PENSTOCK_ROUTER_CORE_POOL_STATE_H_

#include <vector>

#include "kvmodel/growth_forecast.h"
#include "router/core/fleet.h"
#include "router/core/risk_control.h"

namespace penstock {

// Share of a pool that the forecast bound may fill.
inline constexpr double kFillLimit = 0.99;
// Horizon at which the pool forecast is checked against what came.
inline constexpr Duration kForecastCheck = Duration::Seconds(10);

struct PoolState {
  PoolSpec spec;
  PoolGrowth growth;
  RiskControl risk;
  std::vector<ReplicaId> replicas;  // That take memory from it.

  // A sample of the forecast mean at kForecastCheck, compared when its time has come with the held memory of the
  // members that were there when it was made (epoch below `sample_epoch`).
  bool sampling = false;
  Instant sample_due;
  double sample_mean = 0;
  uint64_t epoch = 1;
  uint64_t sample_epoch = 0;
  double last_error = 0;  // Over capacity.
  bool error_known = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_POOL_STATE_H_
