// The time of the newest steps of one replica over the time that its steps usually take.
//
// A sample is the time of some steps and the time that the prior of the step model gives them. The prior takes the load
// of the replica out of the ratio of both. The usual ratio is learned slowly, by number of busy neighbours. The level
// is that of the last kWindow samples together, without the worst one: a lone pause says nothing. Prefill that is
// counted in the wrong step evens out. Invariant: level() > 0. Owned by ReplicaState. Observe is O(kWindow), the rest
// O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_PACE_WATCH_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_PACE_WATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace penstock {

class PaceWatch {
 public:
  // Samples that make a level. Fewer react to chance, more need more than 20 steps.
  static constexpr size_t kWindow = 8;
  // A sample from this ratio on is out of line.
  static constexpr double kOutOfLine = 1.3;

  PaceWatch() = default;
  // `prior_known` as in StepModel; a busy neighbour usually costs `per_neighbour` of a step.
  PaceWatch(bool prior_known, double per_neighbour);

  // `steps` took `elapsed` seconds; the prior gives them `prior`. The usual ratio follows while `learns`.
  void Observe(double steps, double elapsed, double prior, int busy_neighbours, bool learns, Instant now);
  // The replica was idle for so long that its last samples say nothing of the next.
  void Forget() { count_ = 0; }

  // The samples are enough for a level.
  bool filled() const { return count_ >= kWindow; }
  double level() const { return level_; }
  // The ratio of the newest sample alone.
  double newest() const { return newest_; }
  Instant newest_at() const { return newest_at_; }
  // Steps since the replica began to be out of line; 0: it is in line.
  double slow_steps() const { return slow_steps_; }
  // The usual ratio can be relied on without a comparison.
  bool sure() const { return sure_; }

 private:
  static constexpr int kSlots = 8;
  struct Sample {
    double elapsed = 0;
    double usual = 0;
  };
  struct Usual {
    double log_ratio = 0;
    int64_t samples = 0;
  };

  void Learn(Usual& usual, double log_ratio) const;
  double LevelNow() const;

  bool prior_known_ = true;
  std::array<Usual, kSlots> usual_{};      // One per number of busy neighbours.
  std::array<Sample, kWindow> samples_{};  // A ring.
  size_t next_ = 0;
  size_t count_ = 0;
  double level_ = 1;
  double newest_ = 1;
  Instant newest_at_;
  double slow_steps_ = 0;
  bool sure_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_PACE_WATCH_H_
