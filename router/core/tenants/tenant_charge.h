// The service that a request was charged when it was dispatched, so that its end can correct it.
//
// ServiceLedger makes it, and the request stores it. The weight of the tenant, or a bound of its counter, may change
// before the request ends.
#ifndef PENSTOCK_ROUTER_CORE_TENANTS_TENANT_CHARGE_H_
#define PENSTOCK_ROUTER_CORE_TENANTS_TENANT_CHARGE_H_

namespace penstock {

struct TenantCharge {
  double service = 0;  // In the unit of the fleet's fairness.
  double running = 0;  // Over the weight of the tenant.
  double moved = 0;    // The counter of the tenant rose by so much: its bound may have cut the rest off.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_TENANTS_TENANT_CHARGE_H_
