// The tokens of a whole prompt: its text, its pictures, its sounds.
//
// Text is learned from prompts of text alone, and media from what the text does not explain. So the guesses about
// pictures never blur what is known of text. Not thread-safe; one owner.
#ifndef PENSTOCK_KVMODEL_INPUT_ESTIMATE_H_
#define PENSTOCK_KVMODEL_INPUT_ESTIMATE_H_

#include <vector>

#include "kvmodel/prompt/media_estimate.h"
#include "kvmodel/prompt/prompt_estimate.h"

namespace penstock {

struct InputCounts {
  TextCounts text;
  MediaCounts media = {};
  MediaFamily family = MediaFamily::kOther;  // The family of the model.

  bool operator==(const InputCounts&) const = default;
};

class InputEstimator {
 public:
  PromptEstimate Estimate(ModelId model, const InputCounts& input) const;
  void Observe(ModelId model, const InputCounts& input, Tokens actual);
  // These models are gone, by id.
  void Forget(const std::vector<bool>& models) {
    text_.Forget(models);
    media_.Forget(models);
  }

 private:
  PromptEstimator text_;
  MediaEstimator media_;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_INPUT_ESTIMATE_H_
