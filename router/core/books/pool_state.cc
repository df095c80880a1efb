#include "router/core/books/pool_state.h"

#include <algorithm>
#include <cmath>

namespace penstock {

void PoolState::Configure(const PoolSpec& spec) {
  if (spec.overflow_fatal != spec_.overflow_fatal) risk_ = RiskControl(spec.overflow_fatal);
  spec_ = spec;
}

void PoolState::CheckForecast(Instant now) {
  for (size_t i = 0; i < kForecastChecks; ++i) {
    Sample& sample = samples_[i];
    if (sample.open && now < sample.due) continue;
    if (sample.open) {
      const double held = HeldOf(sample, now);
      const double capacity = std::max(1.0, spec_.capacity.AsDouble());
      sample.last_error = (sample.mean - held) / capacity;
      sample.last_sigma = sample.sigma / capacity;
      ++sample.compared;
    }
    sample.open = true;
    sample.mean = growth_.MeanAt(kForecastCheck[i].seconds(), now);
    sample.sigma = std::sqrt(growth_.VarianceAt(kForecastCheck[i].seconds(), now));
    sample.held = growth_.Sum();
    sample.due = now + kForecastCheck[i];
    sample.epoch = epoch_++;
  }
}

PoolView::Cohort PoolState::CohortAt(Instant now) const {
  const Sample& sample = samples_.back();
  if (!sample.open) return {};
  const double held = std::max(0.0, HeldOf(sample, now));
  return {now - (sample.due - kForecastCheck.back()), Amount(static_cast<int64_t>(held))};
}

}  // namespace penstock
