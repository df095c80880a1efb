// The part that one tenant has in the cell of its model, in streams.
//
// New tenants begin with the curve of their model. So no sender may become that curve: a tenant counts in full until it
// is a tenth of a full cell, then less and less. A tenant alone still teaches its model, a hundred times slower at
// most. Owned by the tenant's cell; O(1).
#ifndef PENSTOCK_KVMODEL_OUTPUT_TENANT_PART_H_
#define PENSTOCK_KVMODEL_OUTPUT_TENANT_PART_H_

#include <algorithm>
#include <cmath>

namespace penstock {

class TenantPart {
 public:
  // Streams that count in full: a tenth of those at which a cell halves its counts.
  static constexpr float kFull = 100;

  // The weight of the tenant's next stream in the cell of its model, 0 to 1. The cell has been halved so often.
  float WeightAt(int halvings) const {
    const float excess = std::max(1.0F, At(halvings) / kFull);
    return 1 / (excess * excess);
  }
  void Count(float weight, int halvings) {
    streams_ = At(halvings) + weight;
    halvings_ = halvings;
  }
  // The streams that the cell still counts.
  float At(int halvings) const { return std::ldexp(streams_, halvings_ - halvings); }

 private:
  float streams_ = 0;  // When the cell had been halved so often:
  int halvings_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_OUTPUT_TENANT_PART_H_
