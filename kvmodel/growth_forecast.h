// Growth of a pool: how much KV memory its members will hold over the coming seconds.
//
// For each horizon h of a log-spaced grid, the members' footprints at h, each weighted by the chance that it still runs
// then, are summed to a mean and a variance. Mean + z sigma, at its worst horizon, bounds the peak. Members advance at
// their own replica's token rate, so replicas of different speed share one time axis. A member's contribution is a
// value that is added once and subtracted again, so a decision costs O(horizons) however many requests run.
// The exact counterpart for known lengths is PastFuturePeak (sort by remaining; Past-Future scheduler, ASPLOS 2025).
#ifndef PENSTOCK_KVMODEL_GROWTH_FORECAST_H_
#define PENSTOCK_KVMODEL_GROWTH_FORECAST_H_

#include <array>
#include <span>
#include <vector>

#include "base/units.h"
#include "kvmodel/footprint.h"
#include "kvmodel/output_forecast.h"

namespace penstock {

// 0, then 0.1 x 1.5^i seconds up to 332 s.
inline constexpr int kHorizons = 22;
const std::array<double, kHorizons>& HorizonSeconds();

// One request as the forecast sees it. Tokens are per sequence.
struct GrowthMember {
  Footprint footprint;
  double prompt = 0;        // Tokens shared by all sequences.
  double prompt_sigma = 0;  // Relative standard error of `prompt`.
  double generated = 0;     // So far, per sequence.
  double output_cap = 0;    // Most tokens a sequence can generate in all.
  int sequences = 1;
  double tokens_per_s = 1;               // Forecast decode rate of its replica.
  double starts_in = 0;                  // Seconds until its first token; above 0 while its prompt is computed.
  const SurvivalCurve* curve = nullptr;  // Null: certain to run until output_cap (the guaranteed bound).

  bool operator==(const GrowthMember&) const = default;
};

// Mean and variance at each horizon, in the pool's unit and its square, and how fast it grows now while it lives.
struct GrowthVector {
  std::array<float, kHorizons> mean{};
  std::array<float, kHorizons> variance{};
  float rate = 0;       // Per second.
  float most_rate = 0;  // The same once its first token has come.
};

GrowthVector ContributionOf(const GrowthMember& member);
// Appends what one request adds to each of the pools that a replica spans; they mostly are alike.
void AddContributions(std::span<const GrowthMember> members, std::vector<GrowthVector>& contributions);

// Its entry for one horizon.
struct GrowthPoint {
  float mean = 0;
  float variance = 0;
};

// A peak and the horizon where it is: there, a further request that does not fit is most likely found not to.
struct PoolPeak {
  double bound = 0;
  int horizon = 0;
};

// Sums of the members of one pool. Add, Remove and Replace cost O(horizons).
//
// A contribution is true at the instant it was made for. Those of a large pool are renewed in turn, so its curve is
// read as much later as they are old on average, given that all members still live: what they have grown meanwhile
// counts without touching any of them.
class PoolGrowth {
 public:
  void Add(const GrowthVector& contribution, Instant made);
  void Remove(const GrowthVector& contribution, Instant made);
  // Remove and Add in one pass.
  void Replace(const GrowthVector& before, Instant made_before, const GrowthVector& after, Instant made);

  // Highest mean + z sigma over the horizons, where that is less than what all would hold if nobody ended: few large
  // members vary by more than they can grow. With `joining`, as if it were a member.
  double Peak(double z, Instant now) const;
  PoolPeak PeakWith(const GrowthVector& joining, double z, Instant now) const;
  // The bound at one horizon with a member more: at most PeakWith it.
  double BoundAt(int horizon, const GrowthMember& joining, double z, Instant now) const;
  // Mean at `seconds` from now, interpolated between grid points.
  double MeanAt(double seconds, Instant now) const;
  // What is held now, prompts on their way included.
  double Present(Instant now) const;
  // The same without what was held since the contributions were made: their sum.
  double Sum() const { return mean_[0]; }
  int64_t members() const { return members_; }

 private:
  class Current;  // The means as of now.

  // With a last element that stays 0, so that every horizon has a next one.
  using Means = std::array<double, kHorizons + 1>;
  Means mean_{};
  std::array<double, kHorizons> variance_{};
  double rate_ = 0;
  double most_rate_ = 0;
  double made_sum_ = 0;  // Of the members' instants, in seconds.
  int64_t members_ = 0;
};

// One running request of known remaining length, for the oracle. In tokens.
struct Outstanding {
  Tokens held{0};
  Tokens remaining{0};
};
// Exact future peak when all advance one token per step and leave when done: max over k of the k longest remaining,
// sum of held + k x remaining of the k-th. O(n log n).
Tokens PastFuturePeak(std::vector<Outstanding> requests);

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_GROWTH_FORECAST_H_
