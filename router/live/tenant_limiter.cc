#include "router/live/tenant_limiter.h"

#include <utility>

#include "base/clock.h"
#include "router/fleet/tenants.h"

namespace penstock {

TenantCharge& TenantCharge::operator=(TenantCharge&& other) noexcept {
  Settle(Tokens(0));
  limiter_ = std::exchange(other.limiter_, nullptr);
  tenant_ = other.tenant_;
  charged_ = other.charged_;
  return *this;
}

void TenantCharge::Settle(Tokens used) {
  if (TenantLimiter* limiter = std::exchange(limiter_, nullptr)) limiter->Settle(tenant_, charged_, used);
}

// A tenant that loses its limits keeps its place, so that charges under way find it.
void TenantLimiter::Configure(const Config& config) {
  const Instant now = Now();
  std::lock_guard lock(mutex_);
  by_tokens_.clear();
  absl::flat_hash_map<TenantId, TenantLimits> limits;
  for (const auto& entry : allowances_) limits[entry.first] = TenantLimits();
  for (const TenantConfig& tenant : config.tenants) {
    const TenantLimits given{tenant.tokens_per_minute, tenant.max_concurrent};
    if (HasLimits(tenant)) limits[TenantIdOf(tenant.name)] = given;
    if (tenant.tokens_per_minute) by_tokens_[tenant.name] = TenantIdOf(tenant.name);
  }
  for (const auto& [tenant, given] : limits) {
    const auto [found, added] = allowances_.try_emplace(tenant, given);
    if (!added) found->second.SetLimits(given, now);
  }
}

std::variant<TenantCharge, TenantDenial> TenantLimiter::Admit(TenantId tenant, const TenantDemand& demand) {
  const Instant now = Now();
  std::lock_guard lock(mutex_);
  const auto found = allowances_.find(tenant);
  if (found == allowances_.end()) return TenantCharge();
  const auto admitted = found->second.Admit(demand, now);
  if (const TenantDenial* denial = std::get_if<TenantDenial>(&admitted)) return *denial;
  return TenantCharge(*this, tenant, std::get<Tokens>(admitted));
}

std::vector<TenantAvailable> TenantLimiter::Available() {
  const Instant now = Now();
  std::lock_guard lock(mutex_);
  std::vector<TenantAvailable> all;
  all.reserve(by_tokens_.size());
  for (const auto& [name, tenant] : by_tokens_) {
    all.push_back(TenantAvailable{name, allowances_.at(tenant).available(now)});
  }
  return all;
}

void TenantLimiter::Learn(TenantId tenant, Tokens output) {
  std::lock_guard lock(mutex_);
  const auto found = allowances_.find(tenant);
  if (found != allowances_.end()) found->second.Learn(output);
}

void TenantLimiter::Settle(TenantId tenant, Tokens charged, Tokens used) {
  const Instant now = Now();
  std::lock_guard lock(mutex_);
  const auto found = allowances_.find(tenant);
  if (found != allowances_.end()) found->second.Settle(charged, used, now);
}

}  // namespace penstock
