#include "kvmodel/prompt/prompt_estimate.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr int kFeatures = 10;
constexpr int kTextFeature = 9;

// Tokens per unit of each feature. English prose (4.7 letters, a space and some punctuation per word) comes to 4.1
// bytes per token. Digits come to two per token (tokenizers take one or three), CJK to 0.8 tokens per character.
constexpr LinearFit<kFeatures>::Priors kPriors = {{
    {0.085, 0.05, 1.0},  // Latin letters, bytes.
    {0.25, 0.15, 1.5},   // Other alphabets, bytes.
    {0.9, 0.3, 4},       // Words.
    {0.5, 0.25, 2},      // Digits.
    {0.03, 0.1, 1.5},    // Space.
    {0.8, 0.3, 4},       // CJK characters.
    {0.55, 0.25, 2},     // Other bytes.
    {4, 5, 200},         // Chat messages.
    {0.28, 0.1, 2},      // Tool schema bytes.
    {2, 30, 5000},       // Once per prompt: template, default system prompt.
}};

// Shares of the old observations' weight that one request takes away: bounds, and the share per squared relative error.
constexpr double kForgetLeast = 1e-4;
constexpr double kForgetMost = 0.01;
constexpr double kForgetPerError = 0.01;
// Relative noise that the fit expects of one request; the ratio to a prior sigma sets the speed of learning.
constexpr double kNoise = 0.03;
// Tokens. The error of a shorter prompt is a token or two, so it is taken relative to this length.
constexpr double kShortPrompt = 32;
// Standard error of any count of text in tokens, beside the error of the weights.
constexpr double kRoundingTokens = 1.5;
// A count that differs from its estimate by more than this factor is an outlier.
constexpr double kOutlierFactor = 8;
// Consecutive outliers after which the fit itself is wrong and starts anew.
constexpr int kOutliersToRestart = 20;
// Requests after which the shared fit is settled; it then learns from one in kSharedSample.
constexpr int64_t kSettled = 1000;
constexpr int64_t kSharedSample = 8;
// A settled fit whose relative error stays within kFaithful learns from one request in kFaithfulSample. Every request
// still counts for its error.
constexpr double kFaithful = 0.05;
constexpr int64_t kFaithfulSample = 4;
// Relative standard errors: of a model without observations, and at least of any text.
constexpr double kUntrainedSigma = 0.15;
constexpr double kLeastSigma = 0.002;
// Tokens. Keeps a hostile prompt's estimate inside 64 bits.
constexpr double kMostTokens = 1e12;
// Standard deviations of a normal distribution's 95 % quantile.
constexpr double kOneSided95 = 1.645;

}  // namespace

Tokens PromptEstimate::Upper() const {
  const double upper = tokens.AsDouble() * (1 + kOneSided95 * relative_sigma);
  return Tokens(static_cast<int64_t>(std::ceil(std::min(upper, kMostTokens))));
}

PromptEstimator::PromptEstimator() : shared_(Initial()) {}

PromptEstimator::State PromptEstimator::Initial() {
  State state{.fit = LinearFit<kFeatures>(kPriors)};
  state.squared_relative_error = kUntrainedSigma * kUntrainedSigma;
  return state;
}

PromptEstimator::Vector PromptEstimator::Features(const TextCounts& counts) {
  Vector features{static_cast<double>(counts.latin),      static_cast<double>(counts.script),
                  static_cast<double>(counts.words),      static_cast<double>(counts.digits),
                  static_cast<double>(counts.space),      static_cast<double>(counts.cjk),
                  static_cast<double>(counts.other),      static_cast<double>(counts.messages),
                  static_cast<double>(counts.tool_bytes), 0};
  const bool any = std::any_of(features.begin(), features.end(), [](double value) { return value > 0; });
  features[kTextFeature] = any ? 1 : 0;
  return features;
}

PromptEstimate PromptEstimator::Estimate(ModelId model, const TextCounts& counts) const {
  const auto found = models_.find(model);
  const State& state = found == models_.end() ? shared_ : found->second;
  const Vector features = Features(counts);
  const double text = std::max(0.0, state.fit.Of(features));
  double total = text + static_cast<double>(counts.exact_tokens);
  double sigma = std::sqrt(state.squared_relative_error);
  if (found == models_.end()) sigma = std::max(sigma, kUntrainedSigma);
  double variance = std::pow(sigma * text, 2);
  if (features[kTextFeature] > 0) variance += kRoundingTokens * kRoundingTokens;
  if (!(total > 0)) return {Tokens(0), 0};
  total = std::clamp(total, 1.0, kMostTokens);
  return {Tokens(std::llround(total)), std::sqrt(variance) / total};
}

void PromptEstimator::Observe(ModelId model, const TextCounts& counts, Tokens actual) {
  const Vector features = Features(counts);
  const double text = actual.AsDouble() - static_cast<double>(counts.exact_tokens);
  if (features[kTextFeature] == 0 || !(text > 0)) return;
  auto [place, fresh] = models_.try_emplace(model);
  if (fresh) {
    place->second = Initial();
    place->second.fit.TakeWeights(shared_.fit);
  }
  Learn(place->second, features, text);
  // The shared fit is settled by then; it learns from a sample of the further requests.
  if (shared_.observations < kSettled || place->second.observations % kSharedSample == 0)
    Learn(shared_, features, text);
}

void PromptEstimator::Learn(State& state, const Vector& features, double actual) {
  const double predicted = std::max(1.0, state.fit.Of(features));
  const double scale = std::max(actual, kShortPrompt);
  const double error = (actual - predicted) / scale;
  const double band = std::clamp((actual - predicted) / std::max(predicted, kShortPrompt), -1.0, 1.0);
  ++state.observations;
  // A plain mean at first, then the last hundred or so; never below one sample in ten, so that the start fades.
  const double share = std::clamp(1.0 / static_cast<double>(state.observations), 0.02, 0.1);
  const double sigma = std::sqrt(state.squared_relative_error);
  state.squared_relative_error += share * (band * band - state.squared_relative_error);
  state.squared_relative_error = std::max(state.squared_relative_error, kLeastSigma * kLeastSigma);
  const double ratio = std::max(actual, kShortPrompt) / std::max(predicted, kShortPrompt);
  const bool outlier = ratio > kOutlierFactor || ratio < 1 / kOutlierFactor;
  state.outliers = outlier ? state.outliers + 1 : 0;
  if (state.outliers >= kOutliersToRestart) state = Initial();
  if (outlier) return;
  const bool faithful = state.observations > kSettled && state.squared_relative_error < kFaithful * kFaithful;
  if (faithful && state.observations % kFaithfulSample != 0) return;
  Vector scaled = features;
  for (double& value : scaled) value /= scale;
  // A surprise beyond three sigma counts as a noisier sample: it moves a settled fit no further than three would.
  const double surprise = std::max(1.0, std::abs(error) / (3 * std::max(sigma, kNoise)));
  state.fit.Correct(kPriors, scaled, error, kNoise * kNoise * surprise);
  // A longer step back while the fit is off.
  state.fit.Forget(kPriors, std::clamp(kForgetPerError * state.squared_relative_error, kForgetLeast, kForgetMost));
}

}  // namespace penstock
