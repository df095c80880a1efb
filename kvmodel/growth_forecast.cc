#include "kvmodel/growth_forecast.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

namespace penstock {
namespace {

std::array<double, kHorizons> MakeHorizons() {
  std::array<double, kHorizons> seconds{};
  double next = 0.1;
  for (int i = 1; i < kHorizons; ++i, next *= 1.5) seconds[i] = next;
  return seconds;
}

const std::array<double, kHorizons> kSeconds = MakeHorizons();

// What all horizons of a member share.
struct MemberTerms {
  const GrowthMember& member;
  double prompt_amount;
  double prompt_deviation;
  double survived;

  explicit MemberTerms(const GrowthMember& of)
      : member(of),
        prompt_amount(of.footprint.Expected(of.prompt)),
        prompt_deviation(prompt_amount * of.prompt_sigma),
        survived(of.curve == nullptr ? 1 : 1 / std::max(1e-12, of.curve->At(of.generated))) {}

  // Amount per second while it decodes.
  double MostRate() const {
    const double tokens = member.generated + member.prompt;
    return member.sequences * member.tokens_per_s *
           (member.footprint.Expected(tokens + 1) - member.footprint.Expected(tokens));
  }

  // Past its cap a member is gone; at the present it is there whatever its curve says.
  std::optional<GrowthPoint> At(int horizon) const {
    const double passed = std::max(0.0, kSeconds[horizon] - member.starts_in);
    const double generated = member.generated + member.tokens_per_s * passed;
    if (horizon > 0 && generated >= member.output_cap) return std::nullopt;
    const bool certain = horizon == 0 || member.curve == nullptr;
    const double alive = certain ? 1 : std::min(1.0, member.curve->At(generated) * survived);
    const double one = member.footprint.Expected(member.prompt + generated);
    const double amount = one + (member.sequences - 1) * std::max(0.0, one - prompt_amount);
    return GrowthPoint{
        static_cast<float>(alive * amount),
        static_cast<float>(alive * (1 - alive) * amount * amount + alive * prompt_deviation * prompt_deviation)};
  }
};

}  // namespace

const std::array<double, kHorizons>& HorizonSeconds() { return kSeconds; }

GrowthVector ContributionOf(const GrowthMember& member) {
  GrowthVector result;
  const MemberTerms terms(member);
  result.most_rate = static_cast<float>(terms.MostRate());
  result.rate = member.starts_in > 0 ? 0 : result.most_rate;
  for (int i = 0; i < kHorizons; ++i) {
    const std::optional<GrowthPoint> point = terms.At(i);
    if (!point) break;
    result.mean[i] = point->mean;
    result.variance[i] = point->variance;
  }
  return result;
}

void PoolGrowth::Add(const GrowthVector& contribution, Instant made) {
  for (int i = 0; i < kHorizons; ++i) {
    mean_[i] += contribution.mean[i];
    variance_[i] += contribution.variance[i];
  }
  rate_ += contribution.rate;
  most_rate_ += contribution.most_rate;
  made_sum_ += made.seconds();
  ++members_;
}

void PoolGrowth::Remove(const GrowthVector& contribution, Instant made) {
  assert(members_ > 0);
  if (--members_ == 0) {
    // Rounding must not outlive the members.
    mean_.fill(0);
    variance_.fill(0);
    rate_ = most_rate_ = made_sum_ = 0;
    return;
  }
  for (int i = 0; i < kHorizons; ++i) {
    mean_[i] = std::max(0.0, mean_[i] - contribution.mean[i]);
    variance_[i] = std::max(0.0, variance_[i] - contribution.variance[i]);
  }
  rate_ -= contribution.rate;
  most_rate_ -= contribution.most_rate;
  made_sum_ -= made.seconds();
}

void PoolGrowth::Replace(const GrowthVector& before, Instant made_before, const GrowthVector& after, Instant made) {
  assert(members_ > 0);
  for (int i = 0; i < kHorizons; ++i) {
    mean_[i] = std::max(0.0, mean_[i] - before.mean[i]) + after.mean[i];
    variance_[i] = std::max(0.0, variance_[i] - before.variance[i]) + after.variance[i];
  }
  rate_ += after.rate - before.rate;
  most_rate_ += after.most_rate - before.most_rate;
  made_sum_ += (made - made_before).seconds();
}

class PoolGrowth::Current {
 public:
  Current(const PoolGrowth& growth, Instant now) : mean_(growth.mean_) {
    if (growth.members_ == 0) return;
    constexpr double kOldest = 2;
    age_ = std::clamp(now.seconds() - growth.made_sum_ / static_cast<double>(growth.members_), 0.0, kOldest);
    const double expected = Later(0);
    // Who has died since is a member no more: the living hold what they held, and what they have grown.
    if (expected > 0) living_ = (mean_[0] + age_ * growth.rate_) / expected;
  }

  double age() const { return age_; }
  double living() const { return living_; }
  double At(int horizon) const { return living_ * Later(horizon); }

 private:
  double Later(int horizon) const {
    if (horizon + 1 >= kHorizons) return mean_[horizon];
    const double slope = (mean_[horizon + 1] - mean_[horizon]) / (kSeconds[horizon + 1] - kSeconds[horizon]);
    return std::max(0.0, mean_[horizon] + age_ * slope);
  }

  const std::array<double, kHorizons>& mean_;
  double age_ = 0;  // Of the contributions on average, in seconds.
  double living_ = 1;
};

double PoolGrowth::Peak(double z, Instant now) const { return PeakWith(GrowthVector(), z, now); }

class PoolGrowth::Bound {
 public:
  Bound(const PoolGrowth& growth, const Current& current, const GrowthPoint& joining, double joining_rate, double z)
      : present_(current.At(0) + joining.mean + z * std::sqrt(growth.variance_[0] + joining.variance)),
        most_rate_(growth.most_rate_ + joining_rate),
        z_(z) {}

  double At(int horizon, double mean, double variance) const {
    return std::min(mean + z_ * std::sqrt(variance), present_ + most_rate_ * kSeconds[horizon]);
  }

 private:
  const double present_;    // If nobody ended: held now, at the upper end of the prompts' error,
  const double most_rate_;  // and grown every second.
  const double z_;
};

double PoolGrowth::PeakWith(const GrowthVector& joining, double z, Instant now) const {
  const Current current(*this, now);
  const Bound bound(*this, current, {joining.mean[0], joining.variance[0]}, joining.most_rate, z);
  double peak = 0;
  for (int i = 0; i < kHorizons; ++i) {
    const double here = bound.At(i, current.At(i) + joining.mean[i], variance_[i] + joining.variance[i]);
    if (here <= peak) continue;
    peak = here;
    worst_ = i;
  }
  return peak;
}

double PoolGrowth::BoundAt(int horizon, const GrowthMember& joining, double z, Instant now) const {
  const Current current(*this, now);
  const MemberTerms terms(joining);
  const Bound bound(*this, current, terms.At(0).value_or(GrowthPoint()), terms.MostRate(), z);
  const GrowthPoint there = terms.At(horizon).value_or(GrowthPoint());
  return bound.At(horizon, current.At(horizon) + there.mean, variance_[horizon] + there.variance);
}

double PoolGrowth::MeanAt(double seconds, Instant now) const {
  const Current current(*this, now);
  seconds += current.age();
  for (int i = 1; i < kHorizons; ++i) {
    if (seconds > kSeconds[i]) continue;
    const double share = (seconds - kSeconds[i - 1]) / (kSeconds[i] - kSeconds[i - 1]);
    return current.living() * (mean_[i - 1] + share * (mean_[i] - mean_[i - 1]));
  }
  return current.living() * mean_[kHorizons - 1];
}

double PoolGrowth::Present(Instant now) const { return Current(*this, now).At(0); }

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
