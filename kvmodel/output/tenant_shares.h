// The part of each tenant in the streams that teach a model's curve, so that a flood of one tenant does not own it.
//
// Each stream counts with a weight of 0 to 1. A tenant's streams together weigh a tenth of all at most. Where the
// others weigh little, they weigh up to kAlone streams: a tenant that is alone still teaches its model.
// Counts halve with those of the curve. Invariant: the totals are the sums over the tenants, but for rounding. At most
// 2 x kHalveAt tenants are held. Not thread-safe; one owner. O(1), and O(tenants) where the counts halve.
#ifndef PENSTOCK_KVMODEL_OUTPUT_TENANT_SHARES_H_
#define PENSTOCK_KVMODEL_OUTPUT_TENANT_SHARES_H_

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "kvmodel/output/length_cell.h"

namespace penstock {

class TenantShares {
 public:
  // The largest part of one tenant.
  static constexpr double kMost = 0.1;
  // Streams that a lone tenant weighs: as many as a tenth of a full cell.
  static constexpr double kAlone = kMost * LengthCell::kHalveAt;
  // Each stream of others takes so many from that. Under a flood, others weigh 50 streams at least.
  static constexpr double kFewOthers = 4;

  // The weight of the tenant's present streams.
  double WeightOf(TenantId tenant) const {
    const auto found = parts_.find(tenant);
    return found == parts_.end() ? 1 : WeightOf(found->second);
  }
  // A stream of the tenant counts now, with its present weight.
  void Count(TenantId tenant) {
    Part& part = parts_[tenant];
    part.streams += 1;
    const double weight = WeightOf(part);
    part.weight += weight;
    weight_ += weight;
    streams_ += 1;
    if (streams_ >= LengthCell::kHalveAt) Halve();
  }
  size_t tenants() const { return parts_.size(); }

 private:
  struct Part {
    double streams = 0;
    double weight = 0;  // Their sum of weights.
  };

  double WeightOf(const Part& part) const {
    const double others = weight_ - part.weight;
    const double allowed = std::max(others * kMost / (1 - kMost), kAlone - kFewOthers * others);
    return part.streams > allowed ? allowed / part.streams : 1;
  }
  void Halve() {
    streams_ = weight_ = 0;
    absl::erase_if(parts_, [this](auto& entry) {
      Part& part = entry.second;
      part.streams /= 2;
      part.weight /= 2;
      if (part.streams < 1) return true;
      streams_ += part.streams;
      weight_ += part.weight;
      return false;
    });
  }

  absl::flat_hash_map<TenantId, Part> parts_;
  double streams_ = 0;
  double weight_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_OUTPUT_TENANT_SHARES_H_
