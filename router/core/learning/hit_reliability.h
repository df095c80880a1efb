// The reliability of one replica's cache: the part of the tokens expected there that was found.
//
// An engine may evict by other rules, restart, or serve other clients; a template may put other text before a prompt.
// The part is a ratio of two sums over the answers of late, so large prompts count more than small ones. It begins at
// 1, with the weight of kPriorTokens. Invariant: 0 <= share() <= 1. Owned by PromptCache. All methods are O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_HIT_RELIABILITY_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_HIT_RELIABILITY_H_

#include <algorithm>

#include "base/units.h"

namespace penstock {

class HitReliability {
 public:
  // Answers that count, about: their weight falls by a factor of e over so many newer ones.
  static constexpr double kMemoryAnswers = 20;
  static constexpr double kPriorTokens = 4096;

  double share() const { return std::clamp((kPriorTokens + found_) / (kPriorTokens + expected_), 0.0, 1.0); }

  // `expected` tokens of a prompt were taken to be cached, and `found` were.
  void Observe(Tokens expected, Tokens found) {
    if (expected <= Tokens(0)) return;
    constexpr double kKept = 1 - 1 / kMemoryAnswers;
    expected_ = kKept * expected_ + expected.AsDouble();
    found_ = kKept * found_ + std::clamp(found, Tokens(0), expected).AsDouble();
  }

 private:
  double expected_ = 0;
  double found_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_HIT_RELIABILITY_H_
