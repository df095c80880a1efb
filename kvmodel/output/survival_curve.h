// The chance that an output goes on beyond each length, on log-spaced bins.
//
// Lengths are whole tokens: bins below about 17 tokens may hold none, and never end a stream.
// 12 bins per octave are measured on recorded chat traffic, whose lengths pile up within a tenth of an octave. 6 bins
// per octave cost 6 points of calibration.
#ifndef PENSTOCK_KVMODEL_OUTPUT_SURVIVAL_CURVE_H_
#define PENSTOCK_KVMODEL_OUTPUT_SURVIVAL_CURVE_H_

#include <array>
#include <span>

namespace penstock {

// 17 octaves of 12 bins.
inline constexpr int kOutputBins = 17 * 12;

// Bin of an output length of at least 1 token; the last bin is open. A few ns: no logarithm is taken.
int OutputBin(double tokens);
// Lower edge of a bin, in tokens: 2^(bin/12).
double OutputBinLower(int bin);

// P(length > t), linear in t over the whole tokens of a bin. Immutable; leases share it, any thread may read it.
class SurvivalCurve {
 public:
  // `hazard[i]`: chance to end in bin i given that it was reached, in [0, 1]. It is clamped to 0.999, so that a chance
  // of going on is always left.
  explicit SurvivalCurve(const std::array<double, kOutputBins>& hazard);

  // P(length > tokens). 1 below 1 token; monotone; never exactly 0 inside the range; constant beyond it. One table
  // lookup, for use in inner loops.
  double At(double tokens) const;
  // out[i] = At(tokens[i]) for each of a horizon grid.
  void AtEach(std::span<const double> tokens, std::span<double> out) const;
  // Smallest whole t with P(length <= t | length > given) >= q, at least `given`; 131072 where the curve ends before.
  double Quantile(double q, double given = 0) const;
  // E[min(length, cap) - given | length > given], of whole tokens. Costs a lookup for a request that begins (`given`
  // below 1), else a pass over the bins between.
  double MeanRemaining(double given, double cap) const;

 private:
  // `tokens` lies in the bin.
  double InBin(int bin, double tokens) const;

  std::array<float, kOutputBins + 1> survival_;
  std::array<double, kOutputBins + 1> summed_;  // At(t) over the whole tokens t, from 0, that lie before each bin.
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_OUTPUT_SURVIVAL_CURVE_H_
