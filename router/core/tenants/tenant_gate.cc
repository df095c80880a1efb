#include "router/core/tenants/tenant_gate.h"

#include <algorithm>
#include <variant>

#include "router/core/contract/admission_checks.h"

namespace penstock {

void TenantGate::Apply(const Event& event, Instant now, std::vector<Action>& actions) {
  if (const auto* arrived = std::get_if<RequestArrived>(&event)) {
    if (const std::optional<Refuse> refusal = RefusalOf(*arrived, now)) {
      actions.push_back(*refusal);
      return;
    }
  } else if (const auto* closed = std::get_if<RequestClosed>(&event)) {
    if (room_.Holds(closed->request)) room_.Close(*closed, core_->UnseenOutput(closed->request), now);
  } else if (const auto* changed = std::get_if<FleetChanged>(&event)) {
    fleet_ = changed->fleet;
    room_.Configure(fleet_.tenants, now);
  } else if (std::holds_alternative<ShutdownStarted>(event)) {
    draining_ = true;
  }
  Pass(event, now, actions);
}

CoreView TenantGate::View(Instant now) const {
  CoreView view = core_->View(now);
  room_.Show(now, view);
  return view;
}

void TenantGate::Pass(const Event& event, Instant now, std::vector<Action>& actions) {
  const size_t first = actions.size();
  core_->Apply(event, now, actions);
  if (room_.empty()) return;
  for (size_t i = first; i < actions.size(); ++i) {
    if (const auto* forward = std::get_if<Forward>(&actions[i])) room_.Forwarded(forward->request);
    if (const auto* refuse = std::get_if<Refuse>(&actions[i])) room_.Refund(refuse->request, now);
  }
}

std::optional<Refuse> TenantGate::RefusalOf(const RequestArrived& arrived, Instant now) {
  if (draining_ || !room_.Limits(arrived.tenant)) return std::nullopt;
  const std::optional<Refuse> denial = room_.Charge(arrived, now);
  return denial ? NeverServed(arrived).value_or(*denial) : denial;
}

std::optional<Refuse> TenantGate::NeverServed(const RequestArrived& arrived) const {
  FitCheck check(arrived, arrived.prompt);
  for (const ReplicaSpec& replica : fleet_.replicas) {
    const auto& models = replica.models;
    if (replica.removed || std::find(models.begin(), models.end(), arrived.model) == models.end()) continue;
    check.Add(replica, LongestPrompt(fleet_, replica));
    if (check.fits()) break;
  }
  return check.Finding();
}

}  // namespace penstock
