// A waiting request as any replica would find it at best. It tells the least memory that the request adds to floors
// (floors.h), and the most of its prompt that is cached.
//
// Its mean at a horizon is the memory of its prompt and output, times the chance that it still runs then. The output
// only adds memory. The chance is least at the fastest pace: there it has generated most. Blocks that others hold
// already are left out. Begin is O(servers + kinds of footprints), the others O(1).
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_NEWCOMER_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_NEWCOMER_H_

#include <array>
#include <vector>

#include "kvmodel/growth_forecast.h"
#include "router/core/books/request_state.h"
#include "router/core/placement/floors.h"

namespace penstock {

class Newcomer {
 public:
  void Begin(const RequestState& request, const Servers& servers, Floors& floors, Instant now);

  // The servers that hold most of the prompt, in rising order.
  const Servers::Holders& holders() const { return holders_; }
  // The floor of the replica that counts for it.
  const Floors::Floor& FloorOf(const Floors::Entry& entry) const { return returns_ ? entry.present : entry.peak; }
  // The share that it adds to that floor. `holds`: the replica is one of the holders.
  double Adds(const Floors::Entry& entry, bool holds) const {
    const Floors::Floor& floor = FloorOf(entry);
    return Share(floor.horizon, floor.per_unit, entry.kind, entry.context, holds);
  }
  // The share that it adds to the floors of a group, on replicas that are no holders.
  double AddsTo(const FloorOrder::Kind& group) const {
    return Share(group.horizon, group.per_unit, group.footprint, group.context, /*holds=*/false);
  }
  // The most prefill that cached tokens of its prompt save.
  const PrefillWork& Cached(bool holds) const { return holds ? whole_ : elsewhere_; }

 private:
  struct Amounts {
    double elsewhere = 0;
    double holder = 0;
  };

  double Share(int horizon, double per_unit, uint32_t footprint, double context, bool holds) const;
  void FindChances(const RequestState& request);
  void FindAmounts(const RequestState& request, Tokens elsewhere, Tokens whole, const std::vector<Footprint>& kinds);

  Servers::Holders holders_;
  PrefillWork whole_;
  PrefillWork elsewhere_;
  bool returns_ = false;  // It was parked and is due back.
  double prompt_ = 0;
  double pace_ = 0;
  std::array<double, kHorizons> context_{};  // At most its context.
  std::array<double, kHorizons> alive_{};    // The least chance that it still runs.
  std::vector<Amounts> amounts_;             // One entry per kind of footprint.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_NEWCOMER_H_
