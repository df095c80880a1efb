#include "kvmodel/growth_forecast.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>

namespace penstock {
namespace {

constexpr std::array<double, kHorizons> MakeHorizons() {
  std::array<double, kHorizons> seconds{};
  double next = 0.1;
  for (int i = 1; i < kHorizons; ++i, next *= 1.5) seconds[i] = next;
  return seconds;
}

constexpr std::array<double, kHorizons> kSeconds = MakeHorizons();

// One over the seconds to the next horizon; 0 for the last.
constexpr std::array<double, kHorizons> MakeInverseGaps() {
  std::array<double, kHorizons> inverse{};
  for (int i = 0; i + 1 < kHorizons; ++i) inverse[i] = 1 / (kSeconds[i + 1] - kSeconds[i]);
  return inverse;
}

constexpr std::array<double, kHorizons> kInverseGaps = MakeInverseGaps();

const std::array<double, kHorizons> kFades = [] {
  std::array<double, kHorizons> fades{};
  for (int i = 0; i < kHorizons; ++i) fades[i] = DecodePace::Fade(kSeconds[i]);
  return fades;
}();

// The value at a time between horizons; the last one holds beyond them.
double Between(std::span<const double> at, double seconds) {
  int next = 1;
  while (next < kHorizons && seconds > kSeconds[next]) ++next;
  if (next == kHorizons) return at[kHorizons - 1];
  return at[next - 1] + (seconds - kSeconds[next - 1]) * kInverseGaps[next - 1] * (at[next] - at[next - 1]);
}

// The share of the present amount that rounding may take it below zero: 2^-53 per operation, for millions of them.
constexpr double kRounding = 1e-6;

// The terms that all horizons of a member share.
struct MemberTerms {
  const GrowthMember& member;
  double shared_amount;
  double prompt_amount;
  double prompt_variance;
  double survived;
  double starts_fade;

  explicit MemberTerms(const GrowthMember& of)
      : member(of),
        shared_amount(of.footprint.Shared(of.shared)),
        prompt_amount(of.footprint.Expected(of.prompt)),
        prompt_variance(prompt_amount * of.prompt_sigma * prompt_amount * of.prompt_sigma),
        survived(of.curve == nullptr ? 1 : 1 / std::max(1e-12, of.curve->At(of.generated))),
        starts_fade(of.starts_in > 0 ? DecodePace::Fade(of.starts_in) : 1) {}

  // Amount per second at so many tokens per second.
  double RateAt(double tokens_per_s) const {
    const double tokens = member.generated + member.prompt;
    return member.sequences * tokens_per_s *
           (member.footprint.Expected(tokens + 1) - member.footprint.Expected(tokens));
  }

  double MostRate() const { return RateAt(std::max(member.pace.now, member.pace.usual)); }

  double Generated(int horizon) const {
    const double seconds = kSeconds[horizon];
    if (seconds <= member.starts_in) return member.generated;
    return member.generated + member.pace.TokensIn(member.starts_in, seconds, starts_fade, kFades[horizon]);
  }

  // `reached`: the chance that a stream generates more than `generated` tokens at all.
  GrowthPoint With(double generated, double reached) const {
    return Alive(std::min(1.0, reached * survived), generated);
  }

  // The present: the member is alive, independent of its curve.
  GrowthPoint Now() const { return Alive(1, member.generated); }

 private:
  GrowthPoint Alive(double alive, double generated) const {
    const double one = member.footprint.Expected(member.prompt + generated);
    const double amount = one - shared_amount + (member.sequences - 1) * std::max(0.0, one - prompt_amount);
    return {static_cast<float>(alive * amount),
            static_cast<float>(alive * ((1 - alive) * amount * amount + prompt_variance))};
  }
};

}  // namespace

const std::array<double, kHorizons>& HorizonSeconds() { return kSeconds; }

GrowthVector ContributionOf(const GrowthMember& member) {
  GrowthVector result;
  const MemberTerms terms(member);
  result.most_rate = static_cast<float>(terms.MostRate());
  result.rate = member.starts_in > 0 ? 0 : static_cast<float>(terms.RateAt(member.pace.now));
  // Past its cap a member is gone.
  std::array<double, kHorizons> generated;
  size_t horizons = 0;
  for (; horizons < kHorizons; ++horizons) {
    generated[horizons] = terms.Generated(static_cast<int>(horizons));
    if (horizons > 0 && generated[horizons] >= member.output_cap) break;
  }
  std::array<double, kHorizons> reached;
  if (member.curve != nullptr) {
    member.curve->AtEach(std::span(generated).first(horizons), reached);
  } else {
    reached.fill(1);
  }
  const auto put = [&result](size_t horizon, const GrowthPoint& point) {
    result.mean[horizon] = point.mean;
    result.variance[horizon] = point.variance;
  };
  put(0, terms.Now());
  for (size_t i = 1; i < horizons; ++i) put(i, terms.With(generated[i], reached[i]));
  return result;
}

void AddContributions(std::span<const GrowthMember> members, std::vector<GrowthVector>& contributions) {
  for (size_t i = 0; i < members.size(); ++i) {
    const bool same = i > 0 && members[i] == members[i - 1];
    contributions.push_back(same ? GrowthVector(contributions.back()) : ContributionOf(members[i]));
  }
}

GrowthVector SumOf(const GrowthVector& a, const GrowthVector& b) {
  GrowthVector sum = a;
  for (int i = 0; i < kHorizons; ++i) {
    sum.mean[i] += b.mean[i];
    sum.variance[i] += b.variance[i];
  }
  sum.rate += b.rate;
  sum.most_rate += b.most_rate;
  return sum;
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

inline void PoolGrowth::CountShortfall(const GrowthVector& removed) {
  // Every contribution holds memory at the present, so the first horizon shows what the others may hide.
  const double present = mean_[0];
  shortfalls_ += present - removed.mean[0] < -kRounding * present ? 1 : 0;
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
  CountShortfall(contribution);
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
  CountShortfall(before);
  for (int i = 0; i < kHorizons; ++i) {
    mean_[i] = std::max(0.0, mean_[i] - before.mean[i]) + after.mean[i];
    variance_[i] = std::max(0.0, variance_[i] - before.variance[i]) + after.variance[i];
  }
  rate_ += after.rate - before.rate;
  most_rate_ += after.most_rate - before.most_rate;
  made_sum_ += (made - made_before).seconds();
}

double PoolGrowth::Disagreement(const PoolGrowth& recounted) const {
  if (members_ != recounted.members_) return 1;
  double largest = 0;
  const auto compare = [&largest](double sum, double other) {
    const double size = std::max(std::abs(sum), std::abs(other));
    if (size > 0) largest = std::max(largest, std::abs(sum - other) / size);
  };
  compare(shared_, recounted.shared_);
  // A horizon that almost no member reaches is compared with the present: its own sum is rounding.
  const double variance = *std::max_element(recounted.variance_.begin(), recounted.variance_.end());
  for (int i = 0; i < kHorizons; ++i) {
    compare(mean_[0] + mean_[i], recounted.mean_[0] + recounted.mean_[i]);
    compare(variance + variance_[i], variance + recounted.variance_[i]);
  }
  compare(made_sum_, recounted.made_sum_);
  return largest;
}

class PoolGrowth::Current {
 public:
  Current(const PoolGrowth& growth, Instant now) : mean_(growth.mean_), shared_(growth.shared_) {
    if (growth.members_ == 0) return;
    // Seconds. Older contributions are not extrapolated further.
    constexpr double kOldest = 2;
    age_ = std::clamp(now.seconds() - growth.made_sum_ / static_cast<double>(growth.members_), 0.0, kOldest);
    const double expected = Later(0);
    // A member that has ended since was removed: the living hold their sum and their growth since.
    if (expected > 0) living_ = (mean_[0] + age_ * growth.rate_) / expected;
  }

  double age() const { return age_; }
  double living() const { return living_; }
  double At(int horizon) const { return living_ * Later(horizon) + shared_; }

 private:
  double Later(int horizon) const {
    const double later = mean_[horizon] + age_ * kInverseGaps[horizon] * (mean_[horizon + 1] - mean_[horizon]);
    return later > 0 ? later : 0;
  }

  const Means& mean_;
  const double shared_;
  double age_ = 0;  // Mean age of the contributions, in seconds.
  double living_ = 1;
};

double PoolGrowth::Peak(double z, Instant now) const { return PeakWith(GrowthVector(), z, now).bound; }

PoolPeak PoolGrowth::PeakWith(const GrowthVector& joining, double z, Instant now) const {
  const Current current(*this, now);
  std::array<double, kHorizons> likely;
  for (int i = 0; i < kHorizons; ++i) {
    likely[i] = current.At(i) + joining.mean[i] + z * std::sqrt(variance_[i] + joining.variance[i]);
  }
  const double most_rate = most_rate_ + joining.most_rate;
  PoolPeak peak;
  for (int i = 0; i < kHorizons; ++i) {
    // The bound if nobody ended: the present at the upper end of the prompts' error, and growth in every second.
    const double here = std::min(likely[i], likely[0] + most_rate * kSeconds[i]);
    if (here <= peak.bound) continue;
    peak = {here, i};
  }
  return peak;
}

double PoolGrowth::BoundAt(int horizon, const GrowthMember& joining, double z, Instant now) const {
  const Current current(*this, now);
  const MemberTerms terms(joining);
  const auto likely = [&](int at, const GrowthPoint& point) {
    return current.At(at) + point.mean + z * std::sqrt(variance_[at] + point.variance);
  };
  const double present = likely(0, terms.Now());
  if (horizon == 0) return present;
  const double generated = terms.Generated(horizon);
  const double reached = joining.curve == nullptr ? 1 : joining.curve->At(generated);
  const GrowthPoint there = generated < joining.output_cap ? terms.With(generated, reached) : GrowthPoint();
  return std::min(likely(horizon, there), present + (most_rate_ + terms.MostRate()) * kSeconds[horizon]);
}

double PoolGrowth::MeanAt(double seconds, Instant now) const {
  const Current current(*this, now);
  return current.living() * Between(mean_, seconds + current.age()) + shared_;
}

double PoolGrowth::VarianceAt(double seconds, Instant now) const {
  return Between(variance_, seconds + Current(*this, now).age());
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
