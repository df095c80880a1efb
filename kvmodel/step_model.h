// Step time of one replica: a prior times a factor learned online, one factor per number of busy neighbours.
//
// Neighbours on the same GPU slow a replica by an amount that depends on sharing mode and load. One factor per
// neighbour count learns that along with the error of the prior. Observed gaps move the factor by 5 % of the error; a
// factor of four is followed within about a second of steps. Where GPU or model is unknown the prior is a guess and the
// first observations count fully. A derate multiplies every factor and is not learned (router/core/grey). Times in
// milliseconds inside, as the coefficients.
#ifndef PENSTOCK_KVMODEL_STEP_MODEL_H_
#define PENSTOCK_KVMODEL_STEP_MODEL_H_

#include <array>

#include "base/units.h"
#include "kvmodel/prefill_work.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {

// Seconds from the start of a prompt's prefill to its first token on an idle engine, at factor 1.
double FirstTokenAlone(const StepCoefficients& step, const PrefillWork& prefill, Tokens batch_budget);

class StepModel {
 public:
  // The part of a step that one busy neighbour costs, until gaps are seen. Under time slicing it computes all the time,
  // and kernels never overlap. Under MPS two models take 1.2 times as long to decode, 1.6 times to prefill, and more
  // where they share the bandwidth (docs/step-time.md).
  static constexpr double kTimeSliced = 1;
  static constexpr double kMps = 0.5;

  StepModel() = default;
  StepModel(const StepCoefficients& prior, bool prior_known, double per_neighbour = kMps);

  double Factor(int busy_neighbours) const { return derate_ * slots_[Slot(busy_neighbours)].factor; }
  // Times that every step takes longer than learned; 1: none.
  double derate() const { return derate_; }
  void SetDerate(double derate) { derate_ = derate; }
  // Samples that the factor was learned from.
  int Observations(int busy_neighbours) const { return slots_[Slot(busy_neighbours)].observations; }

  // Seconds of a step without prefill: `sequences` decoding, `kv_tokens` attended.
  double DecodeStep(double sequences, double kv_tokens, int busy_neighbours) const;
  // Seconds that prefill adds to its steps.
  PrefillPrice PriceOfPrefill(int busy_neighbours) const;

  // Learns from `steps` consecutive steps of a busy replica that took `elapsed` seconds and computed `prefill` beside
  // `sequences` decoding. Ratios are clamped to [0.2, 8] of the prior (a guessed prior: [0.02, 64]). Nothing is learned
  // while a derate holds.
  void Observe(double elapsed, double steps, double sequences, double kv_tokens, const PrefillWork& prefill,
               int busy_neighbours);

  const StepCoefficients& prior() const { return prior_; }
  // Seconds that the prior gives to such steps, without neighbours.
  double PriorOf(double steps, double sequences, double kv_tokens, const PrefillWork& prefill) const;

 private:
  static constexpr int kSlots = 8;
  struct LearnedFactor {
    double factor = 1;
    int observations = 0;
  };
  static int Slot(int busy_neighbours);

  StepCoefficients prior_;
  bool prior_known_ = true;
  double derate_ = 1;
  std::array<LearnedFactor, kSlots> slots_;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_STEP_MODEL_H_
