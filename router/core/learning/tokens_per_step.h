// The tokens that a stream of a replica gets in one step of its engine, learned: more than one with speculative
// decoding.
//
// A ratio of two sums that decay with the steps. A small excess is noise of sampling, so it counts as one token.
// Invariant: value() >= 1. Owned by ReplicaState. O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_TOKENS_PER_STEP_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_TOKENS_PER_STEP_H_

#include <algorithm>

namespace penstock {

class TokensPerStep {
 public:
  // Steps of one stream after which an observation counts 1/e. Untuned.
  static constexpr double kMemory = 2000;
  // Steps before anything is believed.
  static constexpr double kLeastSteps = 50;
  // Below, streams are taken to get one token per step.
  static constexpr double kLeast = 1.2;
  static constexpr double kMost = 16;

  double value() const { return value_; }

  // The streams together got so many tokens in so many steps, each stream's steps counted.
  void Observe(double tokens, double steps) {
    if (steps <= 0) return;
    const double kept = std::max(0.0, 1 - steps / kMemory);
    tokens_ = kept * tokens_ + std::clamp(tokens, steps, kMost * steps);
    steps_ = kept * steps_ + steps;
    const double ratio = tokens_ / steps_;
    value_ = steps_ < kLeastSteps || ratio < kLeast ? 1 : ratio;
  }

 private:
  double tokens_ = 0;
  double steps_ = 0;
  double value_ = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_TOKENS_PER_STEP_H_
