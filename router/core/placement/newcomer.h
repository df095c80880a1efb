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
  // True: it surely is still there at the horizon, on a replica of that context, so a peak there counts against it.
  bool Stays(int horizon, double context) const {
    return horizon >= 0 && context_[horizon] < context && alive_[horizon] > kSureStay;
  }
  bool IsHolder(size_t server) const;
  // The most leading tokens of its prompt that a replica holds which is no holder.
  Tokens elsewhere() const { return elsewhere_; }
  // The share that it adds to that floor, where the replica holds so much of its prompt.
  double Adds(const Floors::Entry& entry, Tokens held) const {
    const Floors::Floor& floor = FloorOf(entry);
    const double amount = held == elsewhere_ ? amounts_[entry.kind] : AmountOf((*kinds_)[entry.kind], held);
    return Share(floor.horizon, floor.per_unit, entry.context, amount);
  }
  // The share that it adds to the floors of a group, on replicas that are no holders.
  double AddsTo(const FloorOrder::Kind& group) const {
    return Share(group.horizon, group.per_unit, group.context, amounts_[group.footprint]);
  }

 private:
  // Above kLeastStay by the rounding of contributions. Its mean is at least this chance times its present amount.
  static constexpr double kSureStay = kLeastStay * (1 + 1e-5);

  double Share(int horizon, double per_unit, double context, double amount) const;
  // The memory of its prompt beyond the tokens that others hold there.
  double AmountOf(const Footprint& footprint, Tokens held) const;
  void FindChances(const RequestState& request);

  Servers::Holders holders_;
  Tokens elsewhere_{0};
  bool returns_ = false;  // It was parked and is due back.
  double prompt_ = 0;
  double arrived_ = 0;  // Its prompt without tokens that an engine generated before.
  double pace_ = 0;
  std::array<double, kHorizons> context_{};  // At most its context.
  std::array<double, kHorizons> alive_{};    // The least chance that it still runs.
  const std::vector<Footprint>* kinds_ = nullptr;
  std::vector<double> amounts_;  // On replicas that are no holders. One entry per kind of footprint.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_NEWCOMER_H_
