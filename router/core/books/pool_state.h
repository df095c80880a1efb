// One pool inside the core: its growth forecast, its risk, and how good its forecasts were.
//
// Invariant: `growth` is the sum of the contributions of the members that joined and did not leave. Owned by
// FleetState. Join, Update and Leave cost O(horizons).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_

#include <array>
#include <vector>

#include "kvmodel/growth_forecast.h"
#include "router/core/learning/risk_control.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/view.h"

namespace penstock {

// Horizons at which a pool's forecast is checked against the memory that is held then.
inline constexpr std::array<Duration, kForecastChecks> kForecastCheck = {Duration::Seconds(1), Duration::Seconds(10),
                                                                         Duration::Seconds(60)};

// The contribution with which a pool counts a running request; stored by the request.
struct Membership {
  GrowthVector contribution;
  Instant made;        // When the contribution was true.
  uint64_t epoch = 0;  // The pool's count of forecast checks when the request joined.
};

class PoolState {
 public:
  // Takes a new specification. A pool that became fatal, or ceased to be, begins its risk anew.
  void Configure(const PoolSpec& spec);

  const PoolSpec& spec() const { return spec_; }
  const PoolGrowth& growth() const { return growth_; }
  RiskControl& risk() { return risk_; }
  const RiskControl& risk() const { return risk_; }
  // The replicas that take memory from the pool.
  std::vector<ReplicaId>& replicas() { return replicas_; }
  const std::vector<ReplicaId>& replicas() const { return replicas_; }
  // The newest comparison at the horizon, for views.
  PoolView::ForecastError ErrorAt(size_t horizon) const {
    return {samples_[horizon].last_error, samples_[horizon].compared};
  }

  void Join(Membership& member, const GrowthVector& contribution, Instant now) {
    member = {contribution, now, epoch_};
    growth_.Add(contribution, now);
  }
  void Update(Membership& member, const GrowthVector& contribution, Instant now) {
    growth_.Replace(member.contribution, member.made, contribution, now);
    Count(contribution.mean[0] - member.contribution.mean[0], member.epoch);
    member.contribution = contribution;
    member.made = now;
  }
  void Leave(const Membership& member) {
    growth_.Remove(member.contribution, member.made);
    Count(-member.contribution.mean[0], member.epoch);
  }
  // The memory that members share changes. It goes from or to a member that joined at epoch `joined`.
  void AddShared(double change, uint64_t joined) {
    growth_.AddShared(change);
    Count(change, joined);
  }
  // Compares the forecasts that are due and makes new ones. O(kForecastChecks).
  void CheckForecast(Instant now);

 private:
  // One forecast of the mean. When it is due, it is compared with the memory of its members: those that joined up to
  // `epoch`.
  struct Sample {
    bool open = false;
    Instant due;
    double mean = 0;
    double held = 0;  // Memory of those members, up to date.
    uint64_t epoch = 0;
    double last_error = 0;  // Over capacity.
    int64_t compared = 0;
  };

  void Count(double change, uint64_t joined) {
    for (Sample& sample : samples_) sample.held += joined <= sample.epoch ? change : 0;
  }

  PoolSpec spec_;
  PoolGrowth growth_;
  RiskControl risk_;
  std::vector<ReplicaId> replicas_;
  std::array<Sample, kForecastChecks> samples_;
  uint64_t epoch_ = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_
