#include "router/core/placement/score.h"

#include <algorithm>

namespace penstock {
namespace {

double Money(const Choice& choice, double) { return choice.money; }

double PeakShare(const Choice& choice, double) { return choice.peak_share; }

double TimeToFirstToken(const Choice& choice, double) { return choice.expected_ttft; }

}  // namespace

std::vector<Score> AllScores() {
  return {{"money", Money}, {"cost", CostOf}, {"peak_share", PeakShare}, {"first_token", TimeToFirstToken}};
}

double CostOf(const Choice& choice, double price) {
  return price * choice.peak_share + choice.own_steps - choice.saved;
}

double PriceAmong(const std::vector<Choice>& choices) {
  double price = 0;
  for (const Choice& choice : choices) price = std::max(price, kMemoryPrice * choice.pool_seconds);
  return price;
}

bool IsBetter(const std::vector<Score>& scores, const Choice& a, const Choice& b, double price) {
  for (const Score& score : scores) {
    const double of_a = score.of(a, price);
    const double of_b = score.of(b, price);
    if (of_a != of_b) return of_a < of_b;
  }
  return a.replica < b.replica;
}

const Choice& BestOf(const std::vector<Score>& scores, const std::vector<Choice>& choices, double price) {
  return *std::min_element(choices.begin(), choices.end(),
                           [&](const Choice& a, const Choice& b) { return IsBetter(scores, a, b, price); });
}

}  // namespace penstock
