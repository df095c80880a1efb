// The limits of tenants in front of any decision core: they are a promise of the configuration under every policy.
//
// An arrival of a tenant over its limit is refused here, and the inner core never hears of it. Every other event goes
// to the inner core unchanged. An arrival is charged when the gate lets it pass. The charge goes back when the inner
// core refuses the request, then or later. A requeued request keeps its charge. While the router drains, the inner core
// answers every arrival. A request that no replica could ever serve gets that refusal, as a retry would not help it.
//
// Contract: AdmissionCore. An event of an unlimited tenant costs one lookup; a refused arrival O(replicas).
#ifndef PENSTOCK_ROUTER_CORE_TENANTS_TENANT_GATE_H_
#define PENSTOCK_ROUTER_CORE_TENANTS_TENANT_GATE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "router/core/contract/admission_core.h"
#include "router/core/tenants/tenant_room.h"

namespace penstock {

class TenantGate final : public AdmissionCore {
 public:
  explicit TenantGate(std::unique_ptr<AdmissionCore> core) : core_(std::move(core)) {}

  void Apply(const Event& event, Instant now, std::vector<Action>& actions) override;
  std::optional<Instant> NextDeadline() const override { return core_->NextDeadline(); }
  CoreView View(Instant now) const override;
  std::optional<WaitView> WaitOf(RequestId request) const override { return core_->WaitOf(request); }
  MemoryWaits FindMemoryWaits(Instant now) const override { return core_->FindMemoryWaits(now); }
  std::optional<Tokens> UnseenOutput(RequestId request) const override { return core_->UnseenOutput(request); }
  std::optional<AllowanceView> AllowanceOf(TenantId tenant, Instant now) const override {
    return room_.Of(tenant, now);
  }

 private:
  // Applies the event to the inner core and reads its answers.
  void Pass(const Event& event, Instant now, std::vector<Action>& actions);
  // Charges an arrival of a limited tenant; a refusal where a limit stands against it.
  std::optional<Refuse> RefusalOf(const RequestArrived& arrived, Instant now);
  // Why no replica could ever serve the request; nullopt where one could.
  std::optional<Refuse> NeverServed(const RequestArrived& arrived) const;

  const std::unique_ptr<AdmissionCore> core_;
  TenantRoom room_;
  Fleet fleet_;
  bool draining_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_TENANTS_TENANT_GATE_H_
