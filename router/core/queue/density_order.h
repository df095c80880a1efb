// How much later than its deadline says a waiting request is tried, so that an overloaded fleet spends its GPU time
// where it yields most tokens, and nobody is sacrificed for it.
//
// A request's dearness is 0 to 1: how its expected GPU time per output token compares with the median of late, 1/2 for
// as much, 1/4 for half and 3/4 for twice as much. Requests that cost about the same are so left in order of arrival.
// Their distance is counted in spans of its TTFT goal: one while nobody is refused, and more the more is refused of
// late: at the knee nearly in order of arrival, which has most requests on time, under overload nearly by density,
// which has most tokens. Without a queue the order is never asked, so below capacity nothing changes.
//
// Kinds - a tenant, a prompt length (octave) - that are refused much more than all get a lead, taken off dearness: it
// rises with each of their requests that is refused and falls with each that is served, so that in the long run
// kGuaranteed of everybody's share is served, the cheapest of a kind first. Tenants share kTenantSlots counters by
// hash: bounded memory whatever keys clients make up. Owned by PenstockCore; every operation is O(1).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_DENSITY_ORDER_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_DENSITY_ORDER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace penstock {

class DensityOrder {
 public:
  // Span of dearness in TTFT goals: while nobody is refused, and how much longer if everybody were.
  static constexpr double kLeastSpan = 1;
  static constexpr double kSpanPerRefused = 10;
  static constexpr double kMostShift = kLeastSpan + kSpanPerRefused;
  // Part of everybody's served share that each kind is led to.
  static constexpr double kGuaranteed = 0.6;

  DensityOrder();

  // Part of the TTFT goal, 0 to kMostShift, by which the request goes behind its deadline. `cost` is its expected GPU
  // time per output token in seconds, which moves the median.
  double Shift(TenantId tenant, Tokens prompt, double cost);
  // A request was dispatched for the first time, or refused for lateness.
  void Served(TenantId tenant, Tokens prompt) { Count(tenant, prompt, 1); }
  void Refused(TenantId tenant, Tokens prompt) { Count(tenant, prompt, 0); }

 private:
  static constexpr int kOctaves = 32;
  static constexpr int kTenantSlots = 1024;

  void Count(TenantId tenant, Tokens prompt, float served);
  double LeadOf(TenantId tenant, Tokens prompt) const;
  static int OctaveOf(Tokens prompt);

  double price_ = 0;  // Median cost of late, in seconds; 0 before the first.
  float served_ = 1;  // Share of the last thousand or so requests.
  float seen_ = 0;
  // 0 to 1.
  std::array<float, kOctaves> prompt_leads_{};
  std::vector<float> tenant_leads_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_DENSITY_ORDER_H_
