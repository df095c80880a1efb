#include "router/core/tenants/tenant_room.h"

#include <variant>

namespace penstock {

void TenantRoom::Configure(const std::vector<TenantSpec>& tenants, Instant now) {
  metered_.clear();
  absl::flat_hash_map<TenantId, TenantLimits> limits;
  for (const auto& entry : allowances_) limits[entry.first] = TenantLimits();
  for (const TenantSpec& tenant : tenants) {
    if (tenant.limits.any()) limits[tenant.id] = tenant.limits;
    if (tenant.limits.tokens_per_minute > Tokens(0)) metered_.push_back(Metered{tenant.name, tenant.id});
  }
  for (const auto& [tenant, given] : limits) {
    const auto [found, added] = allowances_.try_emplace(tenant, given);
    if (!added) found->second.SetLimits(given, now);
  }
}

bool TenantRoom::Limits(TenantId tenant) const {
  const auto found = allowances_.find(tenant);
  return found != allowances_.end() && found->second.limits().any();
}

std::optional<Refuse> TenantRoom::Charge(const RequestArrived& arrived, Instant now) {
  TenantDemand demand;
  demand.prompt = arrived.prompt;
  demand.max_output = arrived.max_output;
  demand.sequences = arrived.embedding ? 0 : arrived.sequences;
  const auto admitted = allowances_.at(arrived.tenant).Admit(demand, now);
  if (const TenantDenial* denial = std::get_if<TenantDenial>(&admitted)) {
    const Refusal reason = denial->by_requests ? Refusal::kTenantRequests : Refusal::kTenantTokens;
    return Refuse{arrived.request, reason, denial->retry_after, denial->bound, denial->value};
  }
  charges_.emplace(arrived.request, Charged{arrived.tenant, std::get<Tokens>(admitted), arrived.prompt,
                                            demand.sequences, arrived.observed});
  return std::nullopt;
}

void TenantRoom::Forwarded(RequestId request) {
  const auto found = charges_.find(request);
  if (found != charges_.end()) found->second.forwarded = true;
}

void TenantRoom::Refund(RequestId request, Instant now) {
  const auto found = charges_.find(request);
  if (found == charges_.end()) return;
  allowances_.at(found->second.tenant).Settle(found->second.tokens, Tokens(0), now);
  charges_.erase(found);
}

void TenantRoom::Close(const RequestClosed& closed, std::optional<Tokens> unseen, Instant now) {
  const auto found = charges_.find(closed.request);
  if (found == charges_.end()) return;
  const Charged charged = found->second;
  charges_.erase(found);
  TenantAllowance& allowance = allowances_.at(charged.tenant);
  const bool ran = charged.forwarded && closed.outcome != Outcome::kRejected;
  const Tokens prompt = closed.prompt > Tokens(0) ? closed.prompt : charged.prompt;
  const bool finished = ran && closed.outcome == Outcome::kFinished;
  const bool counted = closed.output > Tokens(0);
  const Tokens forecast = charged.tokens - charged.prompt;
  Tokens output = closed.output;
  if (finished && !counted) output = forecast;
  if (!finished && !counted && !charged.observed && closed.outcome == Outcome::kClientGone) {
    output = unseen.value_or(forecast);
  }
  allowance.Settle(charged.tokens, ran ? prompt + output : Tokens(0), now);
  if (!finished || !counted || charged.sequences == 0) return;
  allowance.Learn(Tokens(closed.output.value() / charged.sequences));
}

std::optional<AllowanceView> TenantRoom::Of(TenantId tenant, Instant now) const {
  const auto found = allowances_.find(tenant);
  if (found == allowances_.end() || !found->second.limits().any()) return std::nullopt;
  const TenantAllowance& allowance = found->second;
  return AllowanceView{allowance.limits().max_concurrent, allowance.concurrent(), allowance.limits().tokens_per_minute,
                       allowance.available(now)};
}

void TenantRoom::Show(Instant now, CoreView& view) const {
  for (const Metered& tenant : metered_) {
    view.tenants.push_back(TenantView{tenant.name, allowances_.at(tenant.tenant).available(now)});
  }
}

}  // namespace penstock
