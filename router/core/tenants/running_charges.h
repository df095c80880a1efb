// The charges of the requests that run: as they are, and each over the weight of its tenant.
#ifndef PENSTOCK_ROUTER_CORE_TENANTS_RUNNING_CHARGES_H_
#define PENSTOCK_ROUTER_CORE_TENANTS_RUNNING_CHARGES_H_

#include <algorithm>

namespace penstock {

struct RunningCharges {
  double service = 0;
  double over_weights = 0;

  bool none() const { return over_weights == 0; }
  // The sum, as a tenant of this weight counts it. Service that others got over small weights counts over its own: so
  // its weight never lets others get further ahead of it.
  double For(double weight) const { return std::min(over_weights, service / weight); }
  RunningCharges& operator+=(const RunningCharges& other) {
    service += other.service;
    over_weights += other.over_weights;
    return *this;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_TENANTS_RUNNING_CHARGES_H_
