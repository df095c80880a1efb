#include "router/core/learning/pace_watch.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// The part of an error that one sample teaches. Twenty slow samples must not pass for usual, some hundred may.
constexpr double kGain = 0.01;
constexpr double kFirstGain = 0.02;
constexpr int64_t kFirst = 50;      // Samples that teach more.
constexpr double kMostError = 0.5;  // A logarithm: a pause teaches no more than a ratio of 1.65.

}  // namespace

PaceWatch::PaceWatch(bool prior_known, double per_neighbour) : prior_known_(prior_known), sure_(prior_known) {
  for (int i = 0; i < kSlots; ++i) usual_[static_cast<size_t>(i)].log_ratio = std::log(1 + per_neighbour * i);
}

void PaceWatch::Learn(Usual& usual, double log_ratio) const {
  ++usual.samples;
  const double error = log_ratio - usual.log_ratio;
  if (!prior_known_ && usual.samples <= kFirst) {
    usual.log_ratio += error / static_cast<double>(usual.samples);
    return;
  }
  const double gain = usual.samples <= kFirst ? kFirstGain : kGain;
  usual.log_ratio += gain * std::clamp(error, -kMostError, kMostError);
}

double PaceWatch::LevelNow() const {
  double elapsed = 0;
  double usual = 0;
  const Sample* worst = &samples_[0];
  for (const Sample& sample : samples_) {
    elapsed += sample.elapsed;
    usual += sample.usual;
    if (sample.elapsed - sample.usual > worst->elapsed - worst->usual) worst = &sample;
  }
  return (elapsed - worst->elapsed) / (usual - worst->usual);
}

void PaceWatch::Observe(double steps, double elapsed, double prior, int busy_neighbours, bool learns, Instant now) {
  if (!(prior > 0) || !(elapsed > 0)) return;
  Usual& usual = usual_[static_cast<size_t>(std::clamp(busy_neighbours, 0, kSlots - 1))];
  const double log_ratio = std::log(elapsed / prior);
  newest_ = std::exp(log_ratio - usual.log_ratio);
  newest_at_ = now;
  sure_ = prior_known_ || usual.samples >= 4 * kFirst;
  samples_[next_] = {elapsed, prior * std::exp(usual.log_ratio)};
  next_ = (next_ + 1) % kWindow;
  count_ = std::min(count_ + 1, kWindow);
  if (filled()) level_ = LevelNow();
  const bool in_line = newest_ < kOutOfLine && (!filled() || level_ < kOutOfLine);
  slow_steps_ = in_line ? 0 : slow_steps_ + steps;
  if (learns) Learn(usual, log_ratio);
}

}  // namespace penstock
