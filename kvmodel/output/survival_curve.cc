#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kvmodel/output/survival_curve.h"

namespace penstock {
namespace {

constexpr int kPerOctave = 12;
// No bin ends every stream, so that a chance of going on is always left.
constexpr double kMaxHazard = 0.999;
// Keeps survival a normal float, so that conditional chances stay defined far beyond the longest output seen.
constexpr double kMinSurvival = 1e-30;

constexpr std::array<double, kOutputBins + 1> MakeEdges() {
  // 2^(k/12).
  constexpr double kSteps[kPerOctave] = {1,
                                         1.0594630943592953,
                                         1.122462048309373,
                                         1.189207115002721,
                                         1.2599210498948732,
                                         1.3348398541700344,
                                         1.4142135623730951,
                                         1.4983070768766815,
                                         1.5874010519681994,
                                         1.681792830507429,
                                         1.7817974362806785,
                                         1.8877486253633868};
  std::array<double, kOutputBins + 1> edges{};
  double octave = 1;
  for (int i = 0; i <= kOutputBins; ++i) {
    edges[i] = octave * kSteps[i % kPerOctave];
    if (i % kPerOctave == kPerOctave - 1) octave *= 2;
  }
  return edges;
}
constexpr std::array<double, kOutputBins + 1> kEdges = MakeEdges();

constexpr double CeilOf(double value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) < value ? static_cast<double>(whole + 1) : static_cast<double>(whole);
}

// The whole tokens of a bin: the one before the first, the one after the last, and one over their number. The last is 0
// where the bin has none.
struct WholeTokens {
  double before = 0;
  double end = 0;
  double inverse_count = 0;
};
constexpr std::array<WholeTokens, kOutputBins> MakeWholeTokens() {
  std::array<WholeTokens, kOutputBins> tokens{};
  for (int i = 0; i < kOutputBins; ++i) {
    const double first = CeilOf(kEdges[i]);
    const double end = CeilOf(kEdges[i + 1]);
    tokens[i] = {first - 1, end, end > first ? 1 / (end - first) : 0};
  }
  return tokens;
}
constexpr std::array<WholeTokens, kOutputBins> kWhole = MakeWholeTokens();

// The whole tokens of each bin less one; 0 where it has none.
constexpr std::array<double, kOutputBins> MakeTokensAfterFirst() {
  std::array<double, kOutputBins> tokens{};
  for (int i = 0; i < kOutputBins; ++i) tokens[i] = kWhole[i].end - kWhole[i].before - 1;
  return tokens;
}
constexpr std::array<double, kOutputBins> kTokensAfterFirst = MakeTokensAfterFirst();

constexpr std::array<double, kOutputBins> MakeInverseCounts() {
  std::array<double, kOutputBins> counts{};
  for (int i = 0; i < kOutputBins; ++i) counts[i] = kWhole[i].inverse_count;
  return counts;
}
constexpr std::array<double, kOutputBins> kInverseCounts = MakeInverseCounts();

// Bin within its octave of the smallest mantissa that shares these leading bits; a bin is wider than one such step.
constexpr int kMantissaBits = 5;
constexpr std::array<uint8_t, 1 << kMantissaBits> MakeSteps() {
  std::array<uint8_t, 1 << kMantissaBits> steps{};
  for (int i = 0; i < 1 << kMantissaBits; ++i) {
    const double mantissa = 1 + static_cast<double>(i) / (1 << kMantissaBits);
    int step = 0;
    while (step + 1 < kPerOctave && kEdges[step + 1] <= mantissa) ++step;
    steps[i] = static_cast<uint8_t>(step);
  }
  return steps;
}
constexpr std::array<uint8_t, 1 << kMantissaBits> kSteps = MakeSteps();

// `tokens` is in [1, last edge).
int BinInside(double tokens) {
  const uint64_t bits = std::bit_cast<uint64_t>(tokens);
  const int octave = static_cast<int>(bits >> 52) - 1023;
  const auto lead = static_cast<size_t>(bits >> (52 - kMantissaBits)) & ((1 << kMantissaBits) - 1);
  const int bin = octave * kPerOctave + kSteps[lead];
  return tokens >= kEdges[bin + 1] ? bin + 1 : bin;
}

}  // namespace

int OutputBin(double tokens) {
  if (!(tokens > 1)) return 0;
  if (tokens >= kEdges[kOutputBins]) return kOutputBins - 1;
  return BinInside(tokens);
}

double OutputBinLower(int bin) { return kEdges[std::clamp(bin, 0, kOutputBins)]; }

// Only the running product and the running sum go bin by bin: the compiler takes the loops between them two bins at a
// time.
SurvivalCurve::SurvivalCurve(const std::array<double, kOutputBins>& hazard) {
  std::array<double, kOutputBins> on;
  for (int i = 0; i < kOutputBins; ++i) on[i] = 1 - (hazard[i] > 0 ? std::min(hazard[i], kMaxHazard) : 0);
  double survival = 1;
  survival_[0] = 1;
  for (int i = 0; i < kOutputBins; ++i) {
    survival = std::max(survival * on[i], kMinSurvival);
    survival_[i + 1] = static_cast<float>(survival);
  }
  // Over the whole tokens of each bin; 0 where it has none.
  std::array<double, kOutputBins> sums;
  for (int i = 0; i < kOutputBins; ++i) {
    const double from = survival_[i];
    const double to = survival_[i + 1];
    sums[i] = kTokensAfterFirst[i] * (from + (to - from) * kInverseCounts[i] + to) / 2;
  }
  summed_[0] = 1;
  for (int i = 0; i < kOutputBins; ++i) summed_[i + 1] = summed_[i] + sums[i];
}

inline double SurvivalCurve::InBin(int bin, double tokens) const {
  const WholeTokens& whole = kWhole[bin];
  if (whole.inverse_count == 0) return survival_[bin + 1];
  const double passed = std::clamp((tokens - whole.before) * whole.inverse_count, 0.0, 1.0);
  const double from = survival_[bin];
  return from + (survival_[bin + 1] - from) * passed;
}

double SurvivalCurve::At(double tokens) const {
  if (!(tokens >= 1)) return 1;
  if (tokens >= kEdges[kOutputBins]) return survival_[kOutputBins];
  return InBin(BinInside(tokens), tokens);
}

void SurvivalCurve::AtEach(std::span<const double> tokens, std::span<double> out) const {
  for (size_t i = 0; i < tokens.size(); ++i) out[i] = At(tokens[i]);
}

double SurvivalCurve::Quantile(double q, double given) const {
  given = std::max(0.0, given);
  const double start = At(given);
  const double target = (1 - std::clamp(q, 0.0, 1.0)) * start;
  if (start <= target) return given;
  // The first bin at whose end the target is met.
  const auto* end = std::partition_point(survival_.begin() + 1, survival_.end(), [&](float s) { return s > target; });
  if (end == survival_.end()) return std::max(given, kEdges[kOutputBins]);
  const auto bin = static_cast<int>(end - survival_.begin()) - 1;
  const double from = survival_[bin];
  const double drop = from - survival_[bin + 1];
  const WholeTokens& whole = kWhole[bin];
  if (whole.inverse_count == 0 || drop <= 0) return std::max(given, std::ceil(kEdges[bin]));
  const double passed = std::clamp((from - target) / drop, 0.0, 1.0);
  // Rounding must not turn a whole position into the next one.
  return std::max(given, whole.before + std::max(1.0, std::ceil(passed / whole.inverse_count - 1e-9)));
}

double SurvivalCurve::MeanRemaining(double given, double cap) const {
  const double start = std::floor(std::max(0.0, given));
  const double stop = std::floor(cap);
  if (stop <= start) return 0;
  // The chances that the next token, the one after it ... up to the cap are generated, summed bin by bin.
  double sum = 0;
  double at = start;
  if (start < 1) {
    const int last = OutputBin(stop);
    sum = summed_[last];
    at = kWhole[last].before + 1;
  }
  for (int bin = OutputBin(at); at < stop && bin < kOutputBins; ++bin) {
    const double next = std::min(stop, kWhole[bin].end);
    if (next <= at) continue;
    sum += (next - at) * (InBin(bin, at) + InBin(bin, next - 1)) / 2;
    at = next;
  }
  if (stop > at) sum += (stop - at) * survival_[kOutputBins];
  return sum / At(start);
}

}  // namespace penstock
