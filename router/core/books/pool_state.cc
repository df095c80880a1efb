#include "router/core/books/pool_state.h"

#include <algorithm>

namespace penstock {

void PoolState::CheckForecast(Instant now) {
  for (size_t i = 0; i < kForecastChecks; ++i) {
    Sample& sample = samples[i];
    if (sample.open && now < sample.due) continue;
    if (sample.open) {
      // Those members' share of what all have grown since their contributions were made.
      const double held = growth.Sum() > 0 ? sample.held * growth.Present(now) / growth.Sum() : 0;
      sample.last_error = (sample.mean - held) / std::max(1.0, spec.capacity.AsDouble());
      ++sample.compared;
    }
    sample.open = true;
    sample.mean = growth.MeanAt(kForecastCheck[i].seconds(), now);
    sample.held = growth.Sum();
    sample.due = now + kForecastCheck[i];
    sample.epoch = epoch++;
  }
}

}  // namespace penstock
