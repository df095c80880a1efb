// The allowances of the tenants that have limits, shared by all loops. Thread-safe; a short lock per request of such a
// tenant, nothing for the others. Outlives the charges it gave.
#ifndef PENSTOCK_ROUTER_LIVE_TENANT_LIMITER_H_
#define PENSTOCK_ROUTER_LIVE_TENANT_LIMITER_H_

#include <map>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "config/config.h"
#include "router/core/tenants/tenant_allowance.h"
#include "router/telemetry/telemetry.h"

namespace penstock {

class TenantLimiter;

// A request's share of its tenant's allowance. Move-only; destroyed unsettled it gives everything back.
class TenantCharge {
 public:
  TenantCharge() = default;
  TenantCharge(TenantLimiter& limiter, TenantId tenant, Tokens charged)
      : limiter_(&limiter), tenant_(tenant), charged_(charged) {}
  TenantCharge(TenantCharge&& other) noexcept { *this = std::move(other); }
  TenantCharge& operator=(TenantCharge&& other) noexcept;
  ~TenantCharge() { Settle(Tokens(0)); }

  // `used` is the final use of the request; the first call counts.
  void Settle(Tokens used);

 private:
  TenantLimiter* limiter_ = nullptr;
  TenantId tenant_;
  Tokens charged_{0};
};

class TenantLimiter {
 public:
  // Tenants that stay keep what they used.
  void Configure(const Config& config);

  std::variant<TenantCharge, TenantDenial> Admit(TenantId tenant, const TenantDemand& demand);
  // The tokens left to the tenants with a limit of tokens; by name.
  std::vector<TenantAvailable> Available();
  // An answer ended by itself with this many tokens.
  void Learn(TenantId tenant, Tokens output);

 private:
  friend class TenantCharge;
  void Settle(TenantId tenant, Tokens charged, Tokens used);

  std::mutex mutex_;  // Guards the allowances.
  absl::flat_hash_map<TenantId, TenantAllowance> allowances_;
  std::map<std::string, TenantId> by_tokens_;  // Those with a limit of tokens.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_TENANT_LIMITER_H_
