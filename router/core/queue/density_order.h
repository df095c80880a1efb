// The shift by which a waiting request is tried later than its deadline says. An overloaded fleet so spends its GPU
// time where it yields most tokens, and no kind of request is sacrificed.
//
// The relative cost of a request is 0 to 1: its expected GPU time per output token compared with the median of late.
// 1/2 is the median, 1/4 half and 3/4 twice as much. Requests of about the same cost so stay in order of arrival. The
// shift is a relative cost times a span. The span is one TTFT goal while no request is refused, and grows with the
// share that is refused. At the knee the order is nearly that of arrival, which has most requests on time. Under
// overload it is nearly by density, which has most tokens. Without a queue the order is never asked, so below capacity
// nothing changes.
//
// A kind is a tenant or a prompt length (octave). A kind that is refused much more than all requests gets a boost,
// which is subtracted from its relative cost. The boost rises with each of its requests that is refused and falls with
// each that is served. In the long run each kind is served kGuaranteed of the share of all, its cheapest requests
// first. Invariant: a shift is 0 to kMostShift. Owned by FairDensityOrder; every operation is O(1).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_DENSITY_ORDER_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_DENSITY_ORDER_H_

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "router/core/queue/tenant_boosts.h"

namespace penstock {

class DensityOrder {
 public:
  // TTFT goals: the span while no request is refused, and its growth if every request were. Measured by
  // bench/results/ablations.md, without=density; plain density gave a tenant down to 3 % on time
  // (ARCHITECTURE.md).
  static constexpr double kLeastSpan = 1;
  static constexpr double kSpanPerRefused = 10;
  static constexpr double kMostShift = kLeastSpan + kSpanPerRefused;
  // The part of the served share of all that each kind is served at least in the long run.
  static constexpr double kGuaranteed = 0.6;

  // The shift in TTFT goals, 0 to kMostShift. `cost` is the expected GPU time per output token in seconds; it moves the
  // median.
  double Shift(TenantId tenant, Tokens prompt, double cost);
  // A request was dispatched for the first time, or refused for lateness.
  void Served(TenantId tenant, Tokens prompt) { Count(tenant, prompt, 1); }
  void Refused(TenantId tenant, Tokens prompt) { Count(tenant, prompt, 0); }
  double RefusedShare() const { return 1 - served_; }

 private:
  static constexpr int kOctaves = 32;

  void Count(TenantId tenant, Tokens prompt, float served);
  double BoostOf(TenantId tenant, Tokens prompt) const;
  static int OctaveOf(Tokens prompt);

  double price_ = 0;  // Median cost of late, in seconds; 0 before the first.
  float served_ = 1;  // Share of the last thousand or so requests.
  float seen_ = 0;
  // 0 to 1.
  std::array<float, kOctaves> prompt_boosts_{};
  TenantBoosts tenant_boosts_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_DENSITY_ORDER_H_
