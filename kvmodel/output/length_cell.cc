#include "kvmodel/output/length_cell.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// The log-normal prior of an unknown model: median in tokens, sigma of the logarithm, weight in streams.
constexpr double kPriorMedian = 150;
constexpr double kPriorSigma = 1.2;
constexpr double kPriorWeight = 5;
// Weight of the parent cell, in streams.
constexpr double kParentWeight = 10;
// Share of the pseudo-observations that reach every bin: a single stream beyond the parent's range decides nothing.
constexpr double kLeastWeight = 0.1;
// Streams in a cell at which its counts halve; length_cell.h has the measured alternative.
constexpr float kHalveAt = 1000;
// A curve is good until the events behind it have grown by this share, or by this many (about thirty streams).
constexpr uint64_t kStaleShare = 128;
constexpr uint64_t kStaleEvents = 1000;

using Hazards = std::array<double, kOutputBins>;

// P(length > tokens) of the prior, on the boundary between two whole lengths.
double PriorSurvival(double tokens) {
  return 0.5 * std::erfc(std::log(tokens / kPriorMedian) / (kPriorSigma * std::sqrt(2.0)));
}

Hazards MakePriorHazards() {
  Hazards hazards{};
  for (int i = 0; i < kOutputBins; ++i) {
    const double first = std::ceil(OutputBinLower(i));
    const double after = std::ceil(OutputBinLower(i + 1));
    const double reached = i == 0 ? 1 : PriorSurvival(first - 0.5);
    hazards[i] = after > first ? 1 - PriorSurvival(after - 0.5) / reached : 0;
  }
  return hazards;
}

const Hazards& PriorHazards() {
  static const Hazards hazards = MakePriorHazards();
  return hazards;
}

int BinOf(Tokens length) { return OutputBin(std::max<double>(1, length.AsDouble())); }

}  // namespace

std::shared_ptr<const SurvivalCurve> PriorCurve() { return std::make_shared<const SurvivalCurve>(PriorHazards()); }

bool LengthCell::PassesABin(Tokens from, Tokens to) { return BinOf(from) < BinOf(to); }

bool LengthCell::InFirstBin(Tokens length) { return BinOf(length) == 0; }

void LengthCell::Advance(Tokens from, Tokens to, float weight) {
  const int first = BinOf(from);
  const int last = BinOf(to);
  if (first >= last) return;
  for (int i = first; i < last; ++i) reached_[i] += weight;
  version_ += static_cast<uint64_t>(last - first);
  HalveWhenFull();
}

void LengthCell::Finish(Tokens length, float weight) {
  const int bin = BinOf(length);
  reached_[bin] += weight;
  ended_[bin] += weight;
  ++version_;
  HalveWhenFull();
}

void LengthCell::HalveWhenFull() {
  if (reached_[0] < kHalveAt) return;
  for (int i = 0; i < kOutputBins; ++i) {
    reached_[i] /= 2;
    ended_[i] /= 2;
  }
  ++halvings_;
}

bool LengthCell::IsFresh(std::span<LengthCell* const> chain) {
  const LengthCell& last = *chain.back();
  if (last.curve_ == nullptr) return false;
  for (size_t level = 0; level < chain.size(); ++level) {
    // An evicted parent starts again below what the curve was built of.
    const uint64_t now = chain[level]->version_;
    const uint64_t then = last.built_[level];
    if (now < then || now - then > std::min(now / kStaleShare, kStaleEvents)) return false;
  }
  return true;
}

void LengthCell::Rebuild(std::span<LengthCell* const> chain) {
  LengthCell& last = *chain.back();
  Hazards hazards = PriorHazards();
  for (size_t level = 0; level < chain.size(); ++level) {
    const LengthCell& cell = *chain[level];
    const double streams = level == 0 ? kPriorWeight : kParentWeight;
    // Under the parent: so many of its pseudo-observations reach the bin.
    std::array<double, kOutputBins> surviving;
    double product = 1;
    for (int i = 0; i < kOutputBins; ++i) {
      surviving[i] = product;
      product *= 1 - hazards[i];
    }
    for (int i = 0; i < kOutputBins; ++i) {
      const double weight = streams * std::max(surviving[i], kLeastWeight);
      hazards[i] = (cell.ended_[i] + weight * hazards[i]) / (cell.reached_[i] + weight);
    }
    last.built_[level] = cell.version_;
  }
  last.curve_ = std::make_shared<const SurvivalCurve>(hazards);
}

const std::shared_ptr<const SurvivalCurve>& LengthCell::CurveOf(std::span<LengthCell* const> chain) {
  if (!IsFresh(chain)) Rebuild(chain);
  return chain.back()->curve_;
}

}  // namespace penstock
