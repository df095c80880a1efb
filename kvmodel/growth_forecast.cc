#include "kvmodel/growth_forecast.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kvmodel/growth_terms.h"

namespace penstock {
namespace {

// The share of the present amount that rounding may take it below zero: 2^-53 per operation, for millions of them.
constexpr double kRounding = 1e-6;

// Sums below this part of the most that a pool held are compared with that part.
constexpr double kSmallPart = 1e-5;

// Seconds. Older contributions are not extrapolated further.
constexpr double kOldest = 2;
// The members that live, as a multiple of those that were expected to. Beyond, it is the line through two horizons that
// is wrong: outputs that end within a tenth of a second make it steep.
constexpr double kLeastLiving = 0.2;
constexpr double kMostLiving = 2;

// The squares of a member that left, over those of the others. Below it, rounding moves no bound by a thousandth.
constexpr double kHides = 1e6;

// A floor is lowered by this against rounding.
constexpr double kExact = 1 - 1e-9;

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

double PresentOf(const GrowthMember& member) { return MemberTerms(member).Now().mean; }

void AddContributions(std::span<const GrowthMember> members, std::vector<GrowthVector>& contributions) {
  for (size_t i = 0; i < members.size(); ++i) {
    const bool same = i > 0 && members[i] == members[i - 1];
    contributions.push_back(same ? GrowthVector(contributions.back()) : ContributionOf(members[i]));
  }
}

int LastHorizonOf(const GrowthVector& contribution) {
  int last = kHorizons - 1;
  while (last > 0 && contribution.mean[last] < kLeastStay * contribution.mean[0]) --last;
  return last;
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

void PoolGrowth::BeginAnew() {
  mean_.fill(0);
  variance_.fill(0);
  rate_ = most_rate_ = made_sum_ = 0;
  members_ = 0;
}

bool PoolGrowth::Remove(const GrowthVector& contribution, Instant made) {
  assert(members_ > 0);
  if (--members_ == 0) {
    // Rounding must not outlive the members.
    BeginAnew();
    return false;
  }
  CountShortfall(contribution);
  for (int i = 0; i < kHorizons; ++i) {
    mean_[i] = std::max(0.0, mean_[i] - contribution.mean[i]);
    variance_[i] = std::max(0.0, variance_[i] - contribution.variance[i]);
  }
  rate_ -= contribution.rate;
  most_rate_ -= contribution.most_rate;
  made_sum_ -= made.seconds();
  const double removed = *std::max_element(contribution.variance.begin(), contribution.variance.end());
  const double left = *std::max_element(variance_.begin(), variance_.end());
  return removed > kHides * std::max(left, mean_[0] * mean_[0]);
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

double PoolGrowth::Disagreement(const PoolGrowth& recounted, double capacity) const {
  if (members_ != recounted.members_) return 1;
  double largest = 0;
  const auto compare = [&largest](double sum, double other, double most) {
    const double size = std::max({std::abs(sum), std::abs(other), kSmallPart * most});
    if (size > 0) largest = std::max(largest, std::abs(sum - other) / size);
  };
  compare(shared_, recounted.shared_, capacity);
  // A horizon that almost no member reaches is compared with the present: its own sum is rounding.
  const double variance = *std::max_element(recounted.variance_.begin(), recounted.variance_.end());
  for (int i = 0; i < kHorizons; ++i) {
    compare(mean_[0] + mean_[i], recounted.mean_[0] + recounted.mean_[i], capacity);
    compare(variance + variance_[i], variance + recounted.variance_[i], capacity * capacity);
  }
  compare(made_sum_, recounted.made_sum_, 0);
  return largest;
}

class PoolGrowth::Current {
 public:
  Current(const PoolGrowth& growth, Instant now) : growth_(growth) {
    if (growth.members_ == 0) return;
    age_ = std::clamp(now.seconds() - growth.made_sum_ / static_cast<double>(growth.members_), 0.0, kOldest);
    present_ = std::max(0.0, growth.PresentAt(age_));
    // A member that has ended since was removed: the living hold their sum and their growth since.
    const double expected = growth.LaterAt(0, age_);
    living_ = expected > 0 ? std::clamp(present_ / expected, kLeastLiving, kMostLiving) : kMostLiving;
  }

  double age() const { return age_; }
  double living() const { return living_; }
  double At(int horizon) const { return horizon == 0 ? present_ + growth_.shared_ : Later(horizon); }
  // The same for a horizon behind the present.
  double Later(int horizon) const { return living_ * std::max(0.0, growth_.LaterAt(horizon, age_)) + growth_.shared_; }

 private:
  const PoolGrowth& growth_;
  double age_ = 0;  // Mean age of the contributions, in seconds.
  double present_ = 0;
  double living_ = 1;
};

inline double PoolGrowth::LaterAt(int horizon, double age) const {
  return mean_[horizon] + age * kInverseGaps[horizon] * (mean_[horizon + 1] - mean_[horizon]);
}

inline double PoolGrowth::PresentAt(double age) const { return mean_[0] + age * rate_; }

double PoolGrowth::Peak(double z, Instant now) const { return PeakWith(GrowthVector(), z, now).bound; }

PoolPeak PoolGrowth::PeakWith(const GrowthVector& joining, double z, Instant now, int until) const {
  const Current current(*this, now);
  const auto bound = [&](int i, double mean) {
    return mean + joining.mean[i] + z * std::sqrt(variance_[i] + joining.variance[i]);
  };
  // Without a choice in it, the compiler takes the loop two horizons at a time.
  std::array<double, kHorizons> likely;
  for (int i = 0; i < kHorizons; ++i) likely[i] = bound(i, current.Later(i));
  likely[0] = bound(0, current.At(0));
  const double most_rate = most_rate_ + joining.most_rate;
  PoolPeak peak;
  for (int i = 0; i < kHorizons; ++i) {
    // The bound if nobody ended: the present at the upper end of the prompts' error, and growth in every second.
    const double here = std::min(likely[i], likely[0] + most_rate * kSeconds[i]);
    peak.later = std::max(peak.later, here);
    if (i > until || here <= peak.bound) continue;
    peak.bound = here;
    peak.horizon = i;
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
  if (there.mean < kLeastStay * terms.Now().mean) return present;
  return std::min(likely(horizon, there), present + (most_rate_ + terms.MostRate()) * kSeconds[horizon]);
}

// Let a be the mean age of the contributions, which rises from its present value to kOldest. Let L(h) be Later at a,
// cut off at 0, and P(a) = mean[0] + a rate. The present is P(a). Let Q(a) = L(h) / L(0). A later horizon is at least
// the smaller of P(a) Q(a) and kMostLiving L(h): kLeastLiving only raises it. Without L(0) > 0 only the second counts.
//   * P does not fall: members only grow. Rounding may make the rate negative, so both ends of a are looked at.
//   * Later is linear in a. So L(h) is no less than at one end of a.
//   * Q is monotone where L(0) > 0. Where L(0) reaches 0, Q grows without a bound, or L(h) is 0 at that end of a. So Q
//     is no less than at an end of a with L(0) > 0, or the bound is 0.
// A member that joins raises each term of a horizon by its mean there or at the present, and lowers none.
PoolPeak PoolGrowth::Floor(double z, Instant now) const {
  const double shared = std::max(0.0, shared_) * kExact;
  const double own = PresentFloor(now) - shared;
  if (!(own > 0)) return {shared, 0};
  const double young = Current(*this, now).age();
  const auto living = [&](double age) {
    const double expected = LaterAt(0, age);
    return expected > 0 ? std::min(own / expected, kMostLiving) : kMostLiving;
  };
  const std::array<double, 2> scale = {living(young), living(kOldest)};
  std::array<double, kHorizons> likely;
  likely[0] = own + z * std::sqrt(variance_[0]);
  for (int i = 1; i < kHorizons; ++i) {
    const double mean = std::min(scale[0] * LaterAt(i, young), scale[1] * LaterAt(i, kOldest));
    likely[i] = std::max(0.0, mean) + z * std::sqrt(variance_[i]);
  }
  std::transform(likely.begin(), likely.end(), kSeconds.begin(), likely.begin(),
                 [&](double at, double seconds) { return std::min(at, likely[0] + most_rate_ * seconds); });
  const auto peak = std::max_element(likely.begin(), likely.end());
  return {shared + *peak * kExact, static_cast<int>(peak - likely.begin())};
}

double PoolGrowth::PresentFloor(Instant now) const {
  const double shared = std::max(0.0, shared_) * kExact;
  const double young = Current(*this, now).age();
  return shared + std::max(0.0, std::min(PresentAt(young), PresentAt(kOldest))) * kExact;
}

double PoolGrowth::MeanAt(double seconds, Instant now) const {
  const Current current(*this, now);
  return current.living() * Between(mean_, seconds + current.age()) + shared_;
}

double PoolGrowth::VarianceAt(double seconds, Instant now) const {
  return Between(variance_, seconds + Current(*this, now).age());
}

double PoolGrowth::PaceErrorAt(double seconds, double error, Instant now) const {
  // Members that are faster reach each amount sooner.
  return std::abs(MeanAt(seconds * (1 + error), now) - MeanAt(seconds * (1 - error), now)) / 2;
}

double PoolGrowth::Present(Instant now) const { return Current(*this, now).At(0); }

}  // namespace penstock
