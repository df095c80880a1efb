#include "router/core/tenants/tenant_allowance.h"

#include <algorithm>

namespace penstock {
namespace {

// The mean follows a change of traffic within a few dozen requests.
constexpr double kLearn = 1.0 / 32;
constexpr double kSecondsPerMinute = 60;

}  // namespace

void TenantAllowance::SetLimits(const TenantLimits& limits, Instant now) {
  Refill(now);
  const double before = limits_.tokens_per_minute.AsDouble();
  const double after = limits.tokens_per_minute.AsDouble();
  limits_ = limits;
  level_ = std::min(after, level_ + std::max(0.0, after - before));
}

void TenantAllowance::Refill(Instant now) {
  const Instant from = refilled_at_;
  refilled_at_ = std::max(refilled_at_, now);
  if (limits_.tokens_per_minute == Tokens(0)) return;
  const double rate = limits_.tokens_per_minute.AsDouble();
  level_ = std::min(rate, level_ + (refilled_at_ - from).seconds() * rate / kSecondsPerMinute);
}

std::variant<Tokens, TenantDenial> TenantAllowance::Admit(const TenantDemand& demand, Instant now) {
  if (limits_.max_concurrent > 0 && concurrent_ >= limits_.max_concurrent) {
    return TenantDenial{true, Duration::Seconds(1), limits_.max_concurrent, concurrent_ + 1};
  }
  double output = mean_output_;
  if (demand.max_output > Tokens(0)) output = std::min(output, demand.max_output.AsDouble());
  const Tokens cost = demand.prompt + Tokens(static_cast<int64_t>(output)) * demand.sequences;
  if (limits_.tokens_per_minute > Tokens(0)) {
    Refill(now);
    const double rate = limits_.tokens_per_minute.AsDouble();
    const double needed = std::min(cost.AsDouble(), rate);
    if (level_ < needed) {
      return TenantDenial{false, Duration::Seconds((needed - level_) * kSecondsPerMinute / rate),
                          limits_.tokens_per_minute.value(), cost.value()};
    }
    level_ -= cost.AsDouble();
  }
  ++concurrent_;
  return cost;
}

void TenantAllowance::Settle(Tokens charged, Tokens used, Instant now) {
  --concurrent_;
  if (limits_.tokens_per_minute == Tokens(0)) return;
  Refill(now);
  level_ = std::min(limits_.tokens_per_minute.AsDouble(), level_ + (charged - used).AsDouble());
}

void TenantAllowance::Learn(Tokens output) { mean_output_ += kLearn * (output.AsDouble() - mean_output_); }

Tokens TenantAllowance::available(Instant now) const {
  TenantAllowance then = *this;
  then.Refill(now);
  return Tokens(static_cast<int64_t>(then.level_));
}

}  // namespace penstock
