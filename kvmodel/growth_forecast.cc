#include "kvmodel/growth_forecast.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace penstock {
namespace {

std::array<double, kHorizons> MakeHorizons() {
  std::array<double, kHorizons> seconds{};
  double next = 0.1;
  for (int i = 1; i < kHorizons; ++i, next *= 1.5) seconds[i] = next;
  return seconds;
}

}  // namespace

const std::array<double, kHorizons>& HorizonSeconds() {
  static const std::array<double, kHorizons> seconds = MakeHorizons();
  return seconds;
}

GrowthVector ContributionOf(const GrowthMember& member) {
  GrowthVector result;
  const std::array<double, kHorizons>& seconds = HorizonSeconds();
  const double prompt_amount = member.footprint.Expected(member.prompt);
  const double prompt_deviation = prompt_amount * member.prompt_sigma;
  const double survived = member.curve == nullptr ? 1 : std::max(1e-12, member.curve->At(member.generated));
  for (int i = 0; i < kHorizons; ++i) {
    const double generated = member.generated + member.tokens_per_s * std::max(0.0, seconds[i] - member.starts_in);
    // Past its cap a member is gone; at the present it is there whatever its curve says.
    if (i > 0 && generated >= member.output_cap) break;
    const double alive = i == 0 || member.curve == nullptr ? 1 : std::min(1.0, member.curve->At(generated) / survived);
    const double one = member.footprint.Expected(member.prompt + generated);
    const double amount = one + (member.sequences - 1) * std::max(0.0, one - prompt_amount);
    result.mean[i] = static_cast<float>(alive * amount);
    result.variance[i] =
        static_cast<float>(alive * (1 - alive) * amount * amount + alive * prompt_deviation * prompt_deviation);
  }
  return result;
}

void PoolGrowth::Add(const GrowthVector& contribution) {
  for (int i = 0; i < kHorizons; ++i) {
    mean_[i] += contribution.mean[i];
    variance_[i] += contribution.variance[i];
  }
  ++members_;
}

void PoolGrowth::Remove(const GrowthVector& contribution) {
  assert(members_ > 0);
  if (--members_ == 0) {
    // Rounding must not outlive the members.
    mean_.fill(0);
    variance_.fill(0);
    return;
  }
  for (int i = 0; i < kHorizons; ++i) {
    mean_[i] = std::max(0.0, mean_[i] - contribution.mean[i]);
    variance_[i] = std::max(0.0, variance_[i] - contribution.variance[i]);
  }
}

double PoolGrowth::Peak(double z) const { return PeakWith(GrowthVector(), z); }

double PoolGrowth::PeakWith(const GrowthVector& joining, double z) const {
  double peak = 0;
  for (int i = 0; i < kHorizons; ++i) {
    const double bound = mean_[i] + joining.mean[i] + z * std::sqrt(variance_[i] + joining.variance[i]);
    peak = std::max(peak, bound);
  }
  return peak;
}

double PoolGrowth::MeanAt(double seconds) const {
  const std::array<double, kHorizons>& grid = HorizonSeconds();
  for (int i = 1; i < kHorizons; ++i) {
    if (seconds > grid[i]) continue;
    const double share = (seconds - grid[i - 1]) / (grid[i] - grid[i - 1]);
    return mean_[i - 1] + share * (mean_[i] - mean_[i - 1]);
  }
  return mean_[kHorizons - 1];
}

Tokens PastFuturePeak(std::vector<Outstanding> requests) {
  std::sort(requests.begin(), requests.end(),
            [](const Outstanding& a, const Outstanding& b) { return a.remaining > b.remaining; });
  Tokens peak{0};
  Tokens held{0};
  for (size_t k = 0; k < requests.size(); ++k) {
    held += requests[k].held;
    peak = std::max(peak, held + requests[k].remaining * static_cast<int64_t>(k + 1));
  }
  return peak;
}

}  // namespace penstock
