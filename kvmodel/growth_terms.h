// The tables of horizons, and the terms of a member's contribution: a part of growth_forecast.cc.
//
// Only that file and tests include it. Pure values; every function is O(1).
#ifndef PENSTOCK_KVMODEL_GROWTH_TERMS_H_
#define PENSTOCK_KVMODEL_GROWTH_TERMS_H_

#include <algorithm>
#include <array>
#include <span>

#include "kvmodel/growth_forecast.h"

namespace penstock {

constexpr std::array<double, kHorizons> MakeHorizons() {
  std::array<double, kHorizons> seconds{};
  double next = 0.1;
  for (int i = 1; i < kHorizons; ++i, next *= 1.5) seconds[i] = next;
  return seconds;
}

inline constexpr std::array<double, kHorizons> kSeconds = MakeHorizons();

// One over the seconds to the next horizon; 0 for the last.
constexpr std::array<double, kHorizons> MakeInverseGaps() {
  std::array<double, kHorizons> inverse{};
  for (int i = 0; i + 1 < kHorizons; ++i) inverse[i] = 1 / (kSeconds[i + 1] - kSeconds[i]);
  return inverse;
}

inline constexpr std::array<double, kHorizons> kInverseGaps = MakeInverseGaps();

inline const std::array<double, kHorizons> kFades = [] {
  std::array<double, kHorizons> fades{};
  for (int i = 0; i < kHorizons; ++i) fades[i] = DecodePace::Fade(kSeconds[i]);
  return fades;
}();

// The value at a time between horizons; the last one holds beyond them.
inline double Between(std::span<const double> at, double seconds) {
  int next = 1;
  while (next < kHorizons && seconds > kSeconds[next]) ++next;
  if (next == kHorizons) return at[kHorizons - 1];
  return at[next - 1] + (seconds - kSeconds[next - 1]) * kInverseGaps[next - 1] * (at[next] - at[next - 1]);
}

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

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_GROWTH_TERMS_H_
