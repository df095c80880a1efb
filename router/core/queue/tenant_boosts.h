// The boosts of tenants that are refused more than others (density_order.h), in bounded memory.
//
// A tenant has an entry of its own: no other tenant's requests move it. A set of kWays entries holds the tenants whose
// ids end alike, and a full set gives its smallest boost away, to a larger one. So clients that make up tenants take
// nothing from a tenant with a larger boost than theirs. A tenant without an entry has no boost. Invariant: a boost is
// 0 to 1. Owned by a DensityOrder; O(kWays).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_TENANT_BOOSTS_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_TENANT_BOOSTS_H_

#include <algorithm>
#include <span>
#include <vector>

#include "base/ids.h"

namespace penstock {

class TenantBoosts {
 public:
  static constexpr size_t kSets = 256;
  static constexpr size_t kWays = 4;

  float Of(TenantId tenant) const {
    for (const Entry& entry : std::span(entries_).subspan(SetOf(tenant), kWays)) {
      if (entry.tenant == tenant) return entry.boost;
    }
    return 0;
  }
  void Add(TenantId tenant, float change) {
    const std::span<Entry> set = std::span(entries_).subspan(SetOf(tenant), kWays);
    auto entry = std::find_if(set.begin(), set.end(), [tenant](const Entry& each) { return each.tenant == tenant; });
    if (entry == set.end()) {
      entry = std::min_element(set.begin(), set.end(),
                               [](const Entry& left, const Entry& right) { return left.boost < right.boost; });
      if (change <= entry->boost) return;
      *entry = {tenant, 0};
    }
    entry->boost = std::clamp(entry->boost + change, 0.0F, 1.0F);
  }

 private:
  struct Entry {
    TenantId tenant;
    float boost = 0;
  };

  static size_t SetOf(TenantId tenant) { return tenant.value() % kSets * kWays; }

  std::vector<Entry> entries_ = std::vector<Entry>(kSets * kWays);
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_TENANT_BOOSTS_H_
