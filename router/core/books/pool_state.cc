#include "router/core/books/pool_state.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Part of the pace by which a forecast is off. The calibration corrects it.
constexpr double kPaceError = 0.2;

}  // namespace

void PoolState::Configure(const PoolSpec& spec) {
  if (spec.overflow_fatal != spec_.overflow_fatal) risk_ = RiskControl(spec.overflow_fatal);
  spec_ = spec;
}

void PoolState::CheckForecast(Instant now) {
  for (size_t i = 0; i < kForecastChecks; ++i) {
    Sample& sample = samples_[i];
    if (sample.open && now < sample.due) continue;
    // An empty pool forecasts nothing.
    if (sample.open && sample.mean > 0) {
      const double held = HeldOf(sample, now);
      const double capacity = std::max(1.0, spec_.capacity.AsDouble());
      sample.last = {(sample.mean - held) / capacity, calibrations_[i].factor() * sample.claimed / capacity,
                     sample.lengths / capacity, sample.last.compared + 1};
      calibrations_[i].Observe(sample.mean - held, sample.claimed);
    }
    sample.open = true;
    const double ahead = kForecastCheck[i].seconds();
    sample.mean = growth_.MeanAt(ahead, now);
    sample.lengths = std::sqrt(growth_.VarianceAt(ahead, now));
    sample.claimed = ClaimedSigmaAt(ahead, now);
    sample.held = growth_.Sum();
    sample.due = now + kForecastCheck[i];
    sample.epoch = epoch_++;
  }
}

double PoolState::ClaimedSigmaAt(double seconds, Instant now) const {
  return std::hypot(std::sqrt(growth_.VarianceAt(seconds, now)), growth_.PaceErrorAt(seconds, kPaceError, now));
}

double PoolState::SigmaAt(double seconds, Instant now) const {
  size_t next = 0;
  while (next + 1 < kForecastChecks && seconds > kForecastCheck[next].seconds()) ++next;
  return calibrations_[next].factor() * ClaimedSigmaAt(seconds, now);
}

PoolView::Cohort PoolState::CohortAt(Instant now) const {
  const Sample& sample = samples_.back();
  if (!sample.open) return {};
  const double held = std::max(0.0, HeldOf(sample, now));
  return {now - (sample.due - kForecastCheck.back()), Amount(static_cast<int64_t>(held))};
}

}  // namespace penstock
