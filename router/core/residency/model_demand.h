// The demand for one model: the output tokens that arrivals of late asked for, per second.
//
// Arrivals fade with a time constant of kWindow, so the rate is what the next minutes may bring. Invariant: a rate is
// not negative. Owned by Residents. O(1).
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_MODEL_DEMAND_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_MODEL_DEMAND_H_

#include <cmath>

#include "base/units.h"

namespace penstock {

class ModelDemand {
 public:
  // Seconds. Bursts last for tens of seconds; a model that was quiet for five minutes is worth little.
  static constexpr double kWindow = 60;

  // A request arrived that is expected to generate so many tokens.
  void Arrived(double tokens, Instant now) {
    tokens_ = tokens_ * Faded(now) + tokens;
    at_ = now;
  }
  // Tokens per second.
  double Rate(Instant now) const { return tokens_ * Faded(now) / kWindow; }

 private:
  double Faded(Instant now) const { return std::exp(-(now - at_).seconds() / kWindow); }

  double tokens_ = 0;
  Instant at_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_MODEL_DEMAND_H_
