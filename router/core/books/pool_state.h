// One pool inside the core: its growth forecast, its risk, and how good its forecasts were.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_

#include <array>
#include <vector>

#include "kvmodel/growth_forecast.h"
#include "router/core/books/risk_control.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/fleet.h"

namespace penstock {

// Horizons at which the pool forecast is checked against what came.
inline constexpr std::array<Duration, kForecastChecks> kForecastCheck = {Duration::Seconds(1), Duration::Seconds(10),
                                                                         Duration::Seconds(60)};

// What a pool counts a running request with; kept by the request.
struct Membership {
  GrowthVector contribution;
  Instant made;        // When the contribution was true.
  uint64_t epoch = 0;  // Of the pool's forecast checks, when it joined.
};

struct PoolState {
  PoolSpec spec;
  PoolGrowth growth;  // Changed by Join, Update and Leave only, so that the checks see it.
  RiskControl risk;
  std::vector<ReplicaId> replicas;  // That take memory from it.
  bool crowded = false;             // The last request that was tried found no room.

  // One sample of the forecast mean for each horizon, compared when its time has come with the held memory of the
  // members that were there when it was made (joined up to `epoch`).
  struct Sample {
    bool open = false;
    Instant due;
    double mean = 0;
    double held = 0;  // By those members, kept up to date.
    uint64_t epoch = 0;
    double last_error = 0;  // Over capacity.
    int64_t compared = 0;
  };
  std::array<Sample, kForecastChecks> samples;
  uint64_t epoch = 1;

  // A member joins, is forecast anew, leaves. O(horizons).
  void Join(Membership& member, const GrowthVector& contribution, Instant now) {
    member = {contribution, now, epoch};
    growth.Add(contribution, now);
  }
  void Update(Membership& member, const GrowthVector& contribution, Instant now) {
    growth.Replace(member.contribution, member.made, contribution, now);
    Count(contribution.mean[0] - member.contribution.mean[0], member.epoch);
    member.contribution = contribution;
    member.made = now;
  }
  void Leave(const Membership& member) {
    growth.Remove(member.contribution, member.made);
    Count(-member.contribution.mean[0], member.epoch);
  }
  // Compares the checks that are due and opens new ones.
  void CheckForecast(Instant now);

 private:
  void Count(double change, uint64_t joined) {
    for (Sample& sample : samples) sample.held += joined <= sample.epoch ? change : 0;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_
