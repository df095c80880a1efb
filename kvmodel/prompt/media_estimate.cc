#include "kvmodel/prompt/media_estimate.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr int kUnsized = 2;
constexpr int kOpaque = 5;
constexpr int kEmbedded = 6;
// The bytes of a row of a tensor before anything was learned.
constexpr double kUsualRow = 4096;

constexpr LinearFit<7>::Priors kPriors = {{
    {1, 0.5, 30},       // Pictures of known size, in tokens of the rule.
    {1, 0.5, 30},       // The same of low detail.
    {1, 0.7, 30},       // Pictures of unknown size, in tokens of a usual photo.
    {1, 0.5, 30},       // Sound, in tokens of the rule.
    {0, 150, 20000},    // Pictures of known size: a constant beside the rule.
    {1000, 1000, 1e6},  // Opaque parts.
    {1, 1, 16},         // Tensors, in usual rows.
}};

// Relative standard errors before anything was learned, and the least.
constexpr double kKnownSigma = 0.3;
constexpr double kVagueSigma = 0.8;
constexpr double kRowSigma = 0.85;
constexpr double kLeastSigma = 0.005;
// Relative noise that the fit expects beside that of the text.
constexpr double kNoise = 0.02;
// Tokens; errors of fewer are relative to these.
constexpr double kShort = 32;
// The share of its old knowledge that one request takes from a fit.
constexpr double kForget = 0.002;

}  // namespace

MediaEstimator::State::State()
    : fit(kPriors),
      known{.squared = kKnownSigma * kKnownSigma},
      vague{.squared = kVagueSigma * kVagueSigma},
      rows{.squared = kRowSigma * kRowSigma} {}

void MediaEstimator::Spread::Learn(double error) {
  ++observations;
  // A mean at first, then the last hundred or so.
  const double share = std::clamp(1.0 / static_cast<double>(observations + 1), 0.02, 0.2);
  const double bounded = std::clamp(error, -1.0, 1.0);
  squared = std::max(squared + share * (bounded * bounded - squared), kLeastSigma * kLeastSigma);
}

MediaEstimator::Vector MediaEstimator::Features(MediaFamily family, const MediaCounts& counts) {
  const auto row = static_cast<size_t>(family);
  return {static_cast<double>(counts.plain[row]),
          static_cast<double>(counts.low[row]),
          static_cast<double>(counts.unsized * UnsizedPictureTokens(family)),
          counts.seconds * SoundTokensPerSecond(family),
          static_cast<double>(counts.pictures),
          static_cast<double>(counts.opaque),
          static_cast<double>(counts.embedded) / kUsualRow};
}

double MediaEstimator::VagueTokens(const Fit& fit, const Vector& features) {
  return fit.weights()[kUnsized] * features[kUnsized] + fit.weights()[kOpaque] * features[kOpaque];
}

MediaTokens MediaEstimator::Estimate(ModelId model, MediaFamily family, const MediaCounts& counts) const {
  if (!counts.Any()) return {};
  const auto found = models_.find(model);
  const State fresh;
  const State& state = found == models_.end() ? fresh : found->second;
  const Vector features = Features(family, counts);
  const double tokens = state.fit.Of(features);
  const double vague = VagueTokens(state.fit, features);
  const double rows = state.fit.weights()[kEmbedded] * features[kEmbedded];
  return {tokens, std::hypot(std::sqrt(state.known.squared) * (tokens - vague - rows),
                             std::sqrt(state.vague.squared) * vague, std::sqrt(state.rows.squared) * rows)};
}

void MediaEstimator::Observe(ModelId model, MediaFamily family, const MediaCounts& counts, double tokens,
                             double text_sigma) {
  if (!counts.Any()) return;
  State& state = models_[model];
  const Vector features = Features(family, counts);
  const double predicted = state.fit.Of(features);
  const double vague = VagueTokens(state.fit, features);
  const double actual = std::max(tokens, 0.0);
  // The text's own error is not one of the media's.
  const double excess = std::max(0.0, std::abs(actual - predicted) - text_sigma);
  const bool opaque = features[kUnsized] > 0 || features[kOpaque] > 0;
  // Relative to what differs by its nature, the fit would follow the smallest parts instead of the mean.
  const double scale = std::max(opaque ? predicted : actual, kShort);
  Spread& clear = features[kEmbedded] > 0 ? state.rows : state.known;
  Spread& spread = opaque ? state.vague : clear;
  const double sigma = std::max(std::sqrt(spread.squared), kNoise);
  spread.Learn(excess / std::max(opaque ? vague : predicted, kShort));
  Vector scaled = features;
  for (double& value : scaled) value /= scale;
  const double error = (actual - predicted) / scale;
  // Parts that tell nothing of their size differ by their nature, so their noise is their spread. Of the others, a
  // surprise beyond three sigma counts as a noisier sample.
  const double surprise = opaque ? 1 : std::max(1.0, std::abs(error) / (3 * sigma));
  const double own = opaque ? sigma : kNoise;
  state.fit.Correct(kPriors, scaled, error, own * own * surprise + std::pow(text_sigma / scale, 2));
  state.fit.Forget(kPriors, kForget);
}

}  // namespace penstock
