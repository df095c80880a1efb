// The allowances of the tenants that have limits, and the charges of their open requests.
//
// Invariant: each charge belongs to one open request, and its allowance counts that request once. A request whose
// tenant has no limit has no charge and costs one lookup. A tenant that loses its limits keeps its allowance, so that
// its charges are settled. Owned by TenantGate; one caller at a time. Every call costs O(1), Configure and Show
// O(tenants).
#ifndef PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ROOM_H_
#define PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ROOM_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/units.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/view.h"
#include "router/core/tenants/tenant_allowance.h"

namespace penstock {

class TenantRoom {
 public:
  // Sets the limits of all tenants. Used tokens and open requests stay counted.
  void Configure(const std::vector<TenantSpec>& tenants, Instant now);

  // True: the tenant has a limit.
  bool Limits(TenantId tenant) const;
  // True: the request has a charge.
  bool Holds(RequestId request) const { return charges_.contains(request); }
  // True: no request has a charge.
  bool empty() const { return charges_.empty(); }

  // Charges an arrival, or returns kTenantRequests or kTenantTokens and charges nothing. Requires
  // Limits(arrived.tenant) and no charge of the request.
  std::optional<Refuse> Charge(const RequestArrived& arrived, Instant now);

  // The next three calls do nothing for a request without a charge.
  // An engine gets the request.
  void Forwarded(RequestId request);
  // The request was refused: its charge goes back in full.
  void Refund(RequestId request, Instant now);
  // Corrects the charge to the tokens of prompt and output. The prompt's estimate stands in for an unknown count, and
  // the output's forecast for the unknown count of a finished request. Where the client of an answer in one piece left,
  // `unseen` counts (AdmissionCore::UnseenOutput), or the forecast. A request that was never forwarded, or that its
  // engine rejected, used nothing. A finished output of known length is learned.
  void Close(const RequestClosed& closed, std::optional<Tokens> unseen, Instant now);

  // The rest of the tenant's limits; nullopt without any.
  std::optional<AllowanceView> Of(TenantId tenant, Instant now) const;
  // Adds the tenants with a limit of tokens, in the order of the configuration.
  void Show(Instant now, CoreView& view) const;

 private:
  struct Charged {
    TenantId tenant;
    Tokens tokens{0};
    Tokens prompt{0};       // Its part of `tokens`.
    int64_t sequences = 1;  // 0: the request generates nothing.
    bool observed = true;   // Its tokens are seen as they come.
    bool forwarded = false;
  };
  struct Metered {
    std::string name;
    TenantId tenant;
  };

  absl::flat_hash_map<TenantId, TenantAllowance> allowances_;
  absl::flat_hash_map<RequestId, Charged> charges_;
  std::vector<Metered> metered_;  // Tenants with a limit of tokens.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ROOM_H_
