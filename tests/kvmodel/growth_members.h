// Members of a pool for the tests of its growth.
#ifndef PENSTOCK_TESTS_KVMODEL_GROWTH_MEMBERS_H_
#define PENSTOCK_TESTS_KVMODEL_GROWTH_MEMBERS_H_

#include <array>
#include <cmath>

#include "kvmodel/growth_forecast.h"

namespace penstock {

inline constexpr Instant kStart = Instant::FromSeconds(50);

// One token of memory per token, in a block of one.
inline GrowthMember MemberOf(double prompt, double generated, double cap) {
  GrowthMember member;
  member.footprint = Footprint::InTokens(Tokens(1));
  member.prompt = prompt;
  member.generated = generated;
  member.output_cap = cap;
  member.pace = DecodePace::Steady(20);
  return member;
}

// Half of the outputs end at every second.
inline SurvivalCurve Halving() {
  std::array<double, kOutputBins> hazard{};
  for (int i = 0; i < kOutputBins; ++i) hazard[i] = 1 - std::pow(0.5, (OutputBinLower(i + 1) - OutputBinLower(i)) / 20);
  return SurvivalCurve(hazard);
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_KVMODEL_GROWTH_MEMBERS_H_
