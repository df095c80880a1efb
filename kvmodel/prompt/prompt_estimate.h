// Prompt length in tokens from text alone, without a tokenizer, corrected online.
//
// The edge counts bytes by script in one pass over the request's strings (TextCounts). The estimator multiplies them by
// per-model coefficients, and gives a relative band. The coefficients follow usage.prompt_tokens of finished requests.
// Goal: median error under 3 %, p95 under 10 % after 200 requests of a model. Not thread-safe; one owner.
#ifndef PENSTOCK_KVMODEL_PROMPT_ESTIMATE_H_
#define PENSTOCK_KVMODEL_PROMPT_ESTIMATE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/units.h"
#include "kvmodel/prompt/linear_fit.h"
#include "kvmodel/prompt/text_counts.h"

namespace penstock {

struct PromptEstimate {
  Tokens tokens{0};
  double relative_sigma = 0.1;  // Standard error over `tokens`; 0 for exact inputs.
  // The upper end of the band at one-sided 95 %.
  Tokens Upper() const;
};

// One linear model per served model: tokens = weights x features, fitted on relative errors. A surprise beyond three
// sigma moves a settled fit about as far as three would. A settled fit that is within 5 % learns from one request in
// four.
class PromptEstimator {
 public:
  PromptEstimator();

  // A model without observations starts from what the others have learned together, with a wider band. Never negative;
  // at least one token for any text.
  PromptEstimate Estimate(ModelId model, const TextCounts& counts) const;
  // Learns from the engine's count. Outliers beyond a factor of 8 only widen the band; 20 in a row start the fit anew.
  // Prompts that are given wholly as token ids teach nothing.
  void Observe(ModelId model, const TextCounts& counts, Tokens actual);
  // These models are gone, by id.
  void Forget(const std::vector<bool>& models) {
    absl::erase_if(models_, [&models](const auto& each) {
      return each.first.value() < models.size() && models[each.first.value()];
    });
  }

 private:
  // Latin, script, words, digits, space, cjk, other, messages, tool bytes, any text at all.
  using Fit = LinearFit<10>;
  using Vector = Fit::Vector;
  struct State {
    Fit fit;
    double squared_relative_error = 0.01;
    int64_t observations = 0;
    int outliers = 0;  // Consecutive ones.
  };
  static State Initial();
  static Vector Features(const TextCounts& counts);
  static void Learn(State& state, const Vector& features, double actual);

  absl::flat_hash_map<ModelId, State> models_;
  State shared_;  // Learns from every model; once it is settled, from some of the requests.
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_PROMPT_ESTIMATE_H_
