#include "router/core/queue/density_order.h"

#include <algorithm>
#include <bit>

namespace penstock {
namespace {

// Of the median, up or down, per request: the median follows a change of traffic within some hundred requests.
// Untuned: no table in bench/results varies it, nor the constants below.
constexpr double kPriceStep = 0.01;
constexpr double kLeastCost = 1e-9;  // Seconds.
constexpr double kMostCost = 1e9;
// Requests over which the served share is averaged.
constexpr float kServedMemory = 1000;
// Of a boost, per request that is served or refused: half the scale takes some forty refusals in a row.
constexpr float kBoostGain = 0.02F;

}  // namespace

int DensityOrder::OctaveOf(Tokens prompt) {
  return std::bit_width(static_cast<uint32_t>(std::clamp<int64_t>(prompt.value(), 1, INT32_MAX))) - 1;
}

double DensityOrder::BoostOf(TenantId tenant, Tokens prompt) const {
  return prompt_boosts_[OctaveOf(prompt)] + tenant_boosts_.Of(tenant);
}

double DensityOrder::Shift(TenantId tenant, Tokens prompt, double cost) {
  cost = std::clamp(cost, kLeastCost, kMostCost);
  if (price_ == 0) price_ = cost;
  price_ *= cost > price_ ? 1 + kPriceStep : 1 / (1 + kPriceStep);
  const double relative = (1 + (cost - price_) / std::max(cost, price_)) / 2;
  const double span = kLeastSpan + kSpanPerRefused * (1 - served_);
  return span * std::max(0.0, relative - BoostOf(tenant, prompt));
}

void DensityOrder::Count(TenantId tenant, Tokens prompt, float served) {
  seen_ = std::min(seen_ + 1, kServedMemory);
  served_ += (served - served_) / seen_;
  const float missing = static_cast<float>(kGuaranteed) * served_ - served;
  const float change = kBoostGain * missing;
  float& prompt_boost = prompt_boosts_[OctaveOf(prompt)];
  prompt_boost = std::clamp(prompt_boost + change, 0.0F, 1.0F);
  tenant_boosts_.Add(tenant, change);
}

}  // namespace penstock
