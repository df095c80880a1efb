#include "router/core/placement/score.h"

#include <algorithm>

namespace penstock {
namespace {

// Share of capacity. A pool that becomes fuller than the emptiest by no more is preferred for its cached prefix.
// bench/results/ablations.md, without=prefixes shows the worth of prefixes.
constexpr double kPrefixBand = 0.1;

bool InBand(const Choice& choice, double lowest) { return choice.peak_share <= lowest + kPrefixBand; }

double OutsideBand(const Choice& choice, double lowest) { return InBand(choice, lowest) ? 0 : 1; }

double Prefill(const Choice& choice, double lowest) { return InBand(choice, lowest) ? choice.prefill.AsDouble() : 0; }

double PeakShare(const Choice& choice, double) { return choice.peak_share; }

double TimeToFirstToken(const Choice& choice, double) { return choice.expected_ttft; }

}  // namespace

std::vector<Score> AllScores() {
  return {{"band", OutsideBand}, {"prefill", Prefill}, {"peak_share", PeakShare}, {"first_token", TimeToFirstToken}};
}

const Choice& BestOf(const std::vector<Score>& scores, const std::vector<Choice>& choices) {
  double lowest = choices.front().peak_share;
  for (const Choice& choice : choices) lowest = std::min(lowest, choice.peak_share);
  return *std::min_element(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
    for (const Score& score : scores) {
      const double of_a = score.of(a, lowest);
      const double of_b = score.of(b, lowest);
      if (of_a != of_b) return of_a < of_b;
    }
    return false;
  });
}

}  // namespace penstock
