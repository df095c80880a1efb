// Scores of the levels of output curves, over the outputs that ended.
//
// The score is the ranked probability score on the octaves of lengths: a proper score, which no forecast beats by being
// too sure. A logarithmic score on single bins prefers coarse cells, because their bins are full. On recorded chat
// traffic it makes the loss of the median grow by half. Old trials fade.
#ifndef PENSTOCK_KVMODEL_OUTPUT_LEVEL_SCORES_H_
#define PENSTOCK_KVMODEL_OUTPUT_LEVEL_SCORES_H_

#include <array>
#include <cstddef>

namespace penstock {

// The kinds of request that share a curve, from one model's. A detail is one octave of prompt lengths, with or without
// a limit. A shape stands for the system prompt, tools and formats that a program sends with every request.
enum class OutputLevel : size_t { kModel, kTenant, kTenantDetail, kShape, kShapeDetail };
inline constexpr size_t kOutputLevels = 5;

class LevelScores {
 public:
  using Scores = std::array<double, kOutputLevels>;

  // A trial with this score of each level. The trials before count `fade` of what they did, in (0, 1).
  void Add(const Scores& trial, double fade) {
    for (size_t i = 0; i < kOutputLevels; ++i) sums_[i] = sums_[i] * fade + trial[i];
    trials_ = trials_ * fade + 1;
  }

  // Trials, as far as they have not faded.
  double trials() const { return trials_; }
  double SumOf(size_t level) const { return sums_[level]; }
  // 0 before the first trial.
  double MeanOf(size_t level) const { return trials_ > 0 ? sums_[level] / trials_ : 0; }

 private:
  Scores sums_{};
  double trials_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_OUTPUT_LEVEL_SCORES_H_
