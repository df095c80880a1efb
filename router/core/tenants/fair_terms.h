// The terms of fairness: its mode, the weights of the configured tenants, and the service that they got.
//
// A tenant without an entry has weight 1, and its service is not remembered. Invariant: a weight is above 0. Owned by
// WaitingRoom; every ledger of a class reads it. O(1); Configure is O(tenants).
#ifndef PENSTOCK_ROUTER_CORE_TENANTS_FAIR_TERMS_H_
#define PENSTOCK_ROUTER_CORE_TENANTS_FAIR_TERMS_H_

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "router/core/contract/fleet.h"

namespace penstock {

class FairTerms {
 public:
  // In kLeads, the most service over weight that a tenant owes for what density gave it. In tokens a dozen requests of
  // a chat, in memory as many for ten seconds. Untuned.
  static constexpr double kMostOwed = 16'384;
  static constexpr double kMemorySeconds = 10;

  // A tenant that is still configured keeps its service, unless its unit changed.
  void Configure(const Fleet& fleet) {
    absl::flat_hash_map<TenantId, Party> parties;
    for (const TenantSpec& tenant : fleet.tenants) {
      const auto before = parties_.find(tenant.id);
      const bool known = before != parties_.end() && fleet.fairness.unit == spec_.unit;
      parties[tenant.id] = {tenant.weight, known ? before->second.service : 0};
    }
    parties_ = std::move(parties);
    spec_ = fleet.fairness;
  }

  const FairnessSpec& spec() const { return spec_; }
  // True: tenants have shares.
  bool apart() const { return spec_.mode != FairnessMode::kNone; }
  // True: the tenant is configured.
  bool Knows(TenantId tenant) const { return parties_.contains(tenant); }
  double WeightOf(TenantId tenant) const {
    const auto found = parties_.find(tenant);
    return found == parties_.end() ? 1 : found->second.weight;
  }
  // The tenant was charged so much; negative where a charge is corrected.
  void Count(TenantId tenant, double service) {
    const auto found = parties_.find(tenant);
    if (found != parties_.end()) found->second.service += service;
  }
  double ServiceOf(TenantId tenant) const {
    const auto found = parties_.find(tenant);
    return found == parties_.end() ? 0 : found->second.service;
  }

 private:
  struct Party {
    double weight = 1;
    double service = 0;
  };

  FairnessSpec spec_;
  absl::flat_hash_map<TenantId, Party> parties_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_TENANTS_FAIR_TERMS_H_
