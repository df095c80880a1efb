#include "router/core/density_order.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace penstock {
namespace {

constexpr float kCostMemory = 1000;
constexpr float kShareMemory = 100;
// Below this many requests of a kind its share says nothing.
constexpr float kLeastSeen = 8;

}  // namespace

DensityOrder::DensityOrder() : by_tenant_(kTenantSlots) {}

int DensityOrder::OctaveOf(Tokens prompt) {
  return std::bit_width(static_cast<uint32_t>(std::clamp<int64_t>(prompt.value(), 1, INT32_MAX))) - 1;
}

int DensityOrder::BinOf(double cost) {
  constexpr double kFinest = 1e-7;  // Seconds.
  return std::clamp(static_cast<int>(4 * std::log2(std::max(cost, kFinest) / kFinest)), 0, kBins - 1);
}

bool DensityOrder::Protected(TenantId tenant, Tokens prompt) const {
  const auto short_of = [this](const Share& share) {
    return share.seen >= kLeastSeen && share.value < kProtectBelow * all_.value;
  };
  return short_of(by_prompt_[OctaveOf(prompt)]) || short_of(by_tenant_[tenant.value() % kTenantSlots]);
}

double DensityOrder::Shift(TenantId tenant, Tokens prompt, double cost) {
  const int bin = BinOf(cost);
  float cheaper = costs_[bin] / 2;
  for (int i = 0; i < bin; ++i) cheaper += costs_[i];
  const double rank = cost_count_ > 0 ? cheaper / cost_count_ : 0;
  costs_[bin] += 1;
  cost_count_ += 1;
  if (cost_count_ > kCostMemory) {
    for (float& count : costs_) count /= 2;
    cost_count_ /= 2;
  }
  return Protected(tenant, prompt) ? 0 : kMostShift * rank;
}

void DensityOrder::Count(TenantId tenant, Tokens prompt, float served) {
  for (Share* share : {&all_, &by_prompt_[OctaveOf(prompt)], &by_tenant_[tenant.value() % kTenantSlots]}) {
    share->seen = std::min(share->seen + 1, kShareMemory);
    share->value += (served - share->value) / share->seen;
  }
}

}  // namespace penstock
