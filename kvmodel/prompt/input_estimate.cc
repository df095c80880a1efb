#include "kvmodel/prompt/input_estimate.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Keeps a hostile prompt's estimate inside 64 bits.
constexpr double kMostTokens = 1e12;

}  // namespace

PromptEstimate InputEstimator::Estimate(ModelId model, const InputCounts& input) const {
  const PromptEstimate text = text_.Estimate(model, input.text);
  if (!input.media.Any()) return text;
  const MediaTokens media = media_.Estimate(model, input.family, input.media);
  const double total = std::clamp(text.tokens.AsDouble() + media.tokens, 1.0, kMostTokens);
  const double sigma = std::hypot(text.tokens.AsDouble() * text.relative_sigma, media.sigma);
  return {Tokens(std::llround(total)), sigma / total};
}

void InputEstimator::Observe(ModelId model, const InputCounts& input, Tokens actual) {
  if (!input.media.Any()) return text_.Observe(model, input.text, actual);
  const PromptEstimate text = text_.Estimate(model, input.text);
  media_.Observe(model, input.family, input.media, (actual - text.tokens).AsDouble(),
                 text.tokens.AsDouble() * text.relative_sigma);
}

}  // namespace penstock
