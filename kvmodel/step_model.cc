#include "kvmodel/step_model.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Share of an observed error by which the factor moves: about a second of steps follows a factor of four.
constexpr double kGain = 0.05;
constexpr double kSecondsPerMs = 1e-3;
constexpr double kPairUnit = 1e-6;  // StepCoefficients::e counts millions.

}  // namespace

double FirstTokenAlone(const StepCoefficients& step, const PrefillWork& prefill, Tokens batch_budget) {
  const double steps = std::ceil(prefill.tokens.AsDouble() / std::max(1.0, batch_budget.AsDouble()));
  return (steps * step.DecodeMs(0, 0) + step.PrefillMs(prefill)) * kSecondsPerMs;
}

StepModel::StepModel(const StepCoefficients& prior, bool prior_known, double per_neighbour)
    : prior_(prior), prior_known_(prior_known) {
  for (int i = 0; i < kSlots; ++i) slots_[i].factor = 1 + per_neighbour * i;
}

int StepModel::Slot(int busy_neighbours) { return std::clamp(busy_neighbours, 0, kSlots - 1); }

double StepModel::DecodeStep(double sequences, double kv_tokens, int busy_neighbours) const {
  return Factor(busy_neighbours) * prior_.DecodeMs(sequences, kv_tokens) * kSecondsPerMs;
}

PrefillPrice StepModel::PriceOfPrefill(int busy_neighbours) const {
  const double seconds = Factor(busy_neighbours) * kSecondsPerMs;
  return {seconds * prior_.d, seconds * prior_.e * kPairUnit};
}

double StepModel::PriorOf(double steps, double sequences, double kv_tokens, const PrefillWork& prefill) const {
  return (steps * prior_.DecodeMs(sequences, kv_tokens) + prior_.PrefillMs(prefill)) * kSecondsPerMs;
}

void StepModel::Observe(double elapsed, double steps, double sequences, double kv_tokens, const PrefillWork& prefill,
                        int busy_neighbours) {
  const double predicted = PriorOf(steps, sequences, kv_tokens, prefill);
  if (!(predicted > 0) || !(elapsed > 0) || derate_ != 1) return;
  const double low = prior_known_ ? 0.2 : 0.02;
  const double high = prior_known_ ? 8 : 64;
  const double ratio = std::clamp(elapsed / predicted, low, high);
  LearnedFactor& slot = slots_[Slot(busy_neighbours)];
  ++slot.observations;
  // Several steps in one sample are that many observations of the same ratio.
  double gain = 1 - std::pow(1 - kGain, std::min(steps, 20.0));
  if (!prior_known_) gain = std::max(gain, 1.0 / slot.observations);
  slot.factor += gain * (ratio - slot.factor);
}

}  // namespace penstock
