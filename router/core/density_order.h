// How much later than its deadline says a waiting request is tried, so that an overloaded fleet spends its GPU time
// where it yields most tokens, and nobody is sacrificed for it.
//
// A request is ranked by its expected GPU time per output token among those of late (share of them that were cheaper).
// The dearest is placed as if it had arrived kMostShift of its TTFT goal later. Without a queue the order is never
// asked, so below capacity nothing changes. Kinds that are refused much more than others - a tenant, a prompt length
// (octave) - are not shifted at all until they have caught up. Tenants share kTenantSlots counters by hash: bounded
// memory whatever keys clients make up. Owned by PenstockCore; every operation is O(1).
#ifndef PENSTOCK_ROUTER_CORE_DENSITY_ORDER_H_
#define PENSTOCK_ROUTER_CORE_DENSITY_ORDER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kvmodel/ids.h"
#include "kvmodel/units.h"

namespace penstock {

class DensityOrder {
 public:
  static constexpr double kMostShift = 1;
  // A kind whose served share is below this part of everybody's is protected.
  static constexpr double kProtectBelow = 0.6;

  DensityOrder();

  // Part of the TTFT goal, 0 to kMostShift, by which the request goes behind its deadline. `cost` is its expected GPU
  // time per output token in seconds; counts it among those of late.
  double Shift(TenantId tenant, Tokens prompt, double cost);
  // A request was dispatched for the first time, or refused for lateness.
  void Served(TenantId tenant, Tokens prompt) { Count(tenant, prompt, 1); }
  void Refused(TenantId tenant, Tokens prompt) { Count(tenant, prompt, 0); }

 private:
  static constexpr int kBins = 128;  // Of cost: 4 per octave.
  static constexpr int kOctaves = 32;
  static constexpr int kTenantSlots = 1024;

  // Share of the last hundred or so that were served.
  struct Share {
    float value = 1;
    float seen = 0;
  };

  void Count(TenantId tenant, Tokens prompt, float served);
  bool Protected(TenantId tenant, Tokens prompt) const;
  static int OctaveOf(Tokens prompt);
  static int BinOf(double cost);

  std::array<float, kBins> costs_{};
  float cost_count_ = 0;
  Share all_;
  std::array<Share, kOctaves> by_prompt_;
  std::vector<Share> by_tenant_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_DENSITY_ORDER_H_
