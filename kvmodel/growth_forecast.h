// Growth of a pool: the KV memory that its members will hold over the coming seconds.
//
// The grid of horizons is log-spaced. At each horizon the forecast sums the members' footprints, each weighted by the
// chance that the member still runs then. The sums are a mean and a variance; mean + z sigma at the worst horizon
// bounds the peak. Members advance at their own replica's token rate, so replicas of different speed share one time
// axis. A member's contribution is a value: it is added once and subtracted again. A decision therefore costs
// O(horizons), independent of the number of running requests. Not thread-safe; one owner.
#ifndef PENSTOCK_KVMODEL_GROWTH_FORECAST_H_
#define PENSTOCK_KVMODEL_GROWTH_FORECAST_H_

#include <array>
#include <span>
#include <vector>

#include "base/units.h"
#include "kvmodel/decode_pace.h"
#include "kvmodel/footprint.h"
#include "kvmodel/output/survival_curve.h"

namespace penstock {

// In seconds: 0, then 0.1 x 1.5^i up to 332.
inline constexpr int kHorizons = 22;
const std::array<double, kHorizons>& HorizonSeconds();

// One request as the forecast sees it. Tokens are per sequence.
struct GrowthMember {
  Footprint footprint;
  double prompt = 0;  // Tokens shared by all sequences.
  double shared = 0;  // The part of `prompt` that the pool counts once for several members (PoolGrowth::AddShared).
  double prompt_sigma = 0;  // Relative standard error of `prompt`.
  double generated = 0;     // Tokens so far, per sequence.
  double output_cap = 0;    // The most tokens that a sequence can generate in all.
  int sequences = 1;
  DecodePace pace;                       // The pace of its replica.
  double starts_in = 0;                  // Seconds until its first token; above 0 while its prompt is computed.
  const SurvivalCurve* curve = nullptr;  // Null: it runs until output_cap for certain (the guaranteed bound).

  bool operator==(const GrowthMember&) const = default;
};

// Mean and variance at each horizon, in the pool's unit and its square, and the member's present growth rate. The
// shared part of its prompt is left out of the means. Its variance stays: the estimate of the prompt is off as a whole.
struct GrowthVector {
  std::array<float, kHorizons> mean{};
  std::array<float, kHorizons> variance{};
  float rate = 0;       // Amount per second; 0 before its first token.
  float most_rate = 0;  // Amount per second after its first token.
};

// All sequences of a member end together. The prompt's error and the output's length are independent. Costs a table
// lookup per horizon.
GrowthVector ContributionOf(const GrowthMember& member);
// The mean of its contribution at the present. O(1).
double PresentOf(const GrowthMember& member);
// Appends one contribution per member: a request's part of each pool that its replica spans. Equal neighbours are
// computed once.
void AddContributions(std::span<const GrowthMember> members, std::vector<GrowthVector>& contributions);

// A member counts as there while it holds at least this part of its present amount; longer outputs hardly occur. So
// members that were let in beside a later peak raise that peak by less than this part of what they held.
inline constexpr float kLeastStay = 1.0F / 20;
// The last horizon where a member counts as there. O(horizons).
int LastHorizonOf(const GrowthVector& contribution);

// The contribution of both together.
GrowthVector SumOf(const GrowthVector& a, const GrowthVector& b);

// One horizon of a GrowthVector.
struct GrowthPoint {
  float mean = 0;
  float variance = 0;
};

// A peak up to some horizon, and the horizon where it is. There, a further request that does not fit is most likely
// found out.
struct PoolPeak {
  double bound = 0;
  int horizon = 0;
  double later = 0;  // The same over all horizons; at least `bound`.
};

// The sums of the members of one pool. Add, Remove and Replace cost O(horizons).
//
// A contribution is true at the instant it was made for. A large pool renews its contributions in turn, so its curve is
// read at a time shifted by their mean age. The living members' growth since then counts without a change of any of
// them. Memory that several members share counts once, at every horizon alike: who leaves last is not known. Invariant:
// the sums equal those of a pool that the same members were added to, but for rounding (Disagreement).
class PoolGrowth {
 public:
  void Add(const GrowthVector& contribution, Instant made);
  // True: the contribution was so large beside what is left that its rounding hides the others' variance. The sums are
  // to be made anew: BeginAnew, then Add for each member.
  bool Remove(const GrowthVector& contribution, Instant made);
  // Forgets the members. The memory that they share stays.
  void BeginAnew();
  // The memory that members share changes by so much.
  void AddShared(double change) { shared_ += change; }
  // Remove and Add in one pass: half the loads and stores.
  void Replace(const GrowthVector& before, Instant made_before, const GrowthVector& after, Instant made);

  // The highest mean + z sigma over the horizons, in the pool's unit. It is at most the amount that all members would
  // hold if nobody ended: few large members vary by more than they can grow. With `joining`, as if it were a member, up
  // to the horizon `until`: whoever has left by then causes no peak behind it.
  double Peak(double z, Instant now) const;
  PoolPeak PeakWith(const GrowthVector& joining, double z, Instant now, int until = kHorizons - 1) const;
  // The bound at one horizon, with `joining` as a member; at the present where it has left by then. At most PeakWith of
  // its contribution until it leaves.
  double BoundAt(int horizon, const GrowthMember& joining, double z, Instant now) const;
  // With the least of a member's means at this horizon and at the present, at most PeakWith of the member over all
  // horizons. It holds for this z and higher ones, from `now` on while the pool does not change. O(horizons).
  PoolPeak Floor(double z, Instant now) const;
  // The same of Present. O(1).
  double PresentFloor(Instant now) const;
  // The mean at `seconds` from now, interpolated between horizons.
  double MeanAt(double seconds, Instant now) const;
  // The variance there: of the members' lengths and prompts, for a pace that is known.
  double VarianceAt(double seconds, Instant now) const;
  // The difference that `error` in the pace, as a part of it, makes to the mean there.
  double PaceErrorAt(double seconds, double error, Instant now) const;
  // The amount held at `now`, prompts on their way included.
  double Present(Instant now) const;
  // The amount held at the instants that the contributions were made for.
  double Sum() const { return mean_[0] + shared_; }
  int64_t members() const { return members_; }

  // Removals that would have taken the present amount below zero by more than rounding: a contribution that was never
  // added.
  int64_t shortfalls() const { return shortfalls_; }
  // The largest difference of a sum from its counterpart in `recounted`. A share of the pool's present amount or its
  // largest variance; 1 where the members differ in number. Large members leave their rounding behind, so a small sum
  // is compared with a part of `capacity`, the most that the pool held. Rounding stays below 1e-6. Costs O(horizons).
  double Disagreement(const PoolGrowth& recounted, double capacity = 0) const;

 private:
  void CountShortfall(const GrowthVector& removed);

  // The mean at the horizon, read at an age of the contributions, if no member had ended since; below 0: all end
  // before.
  double LaterAt(int horizon, double age) const;
  // The amount of the present members, which have grown since.
  double PresentAt(double age) const;

  class Current;  // The means at a given instant.

  // The last element stays 0, so that every horizon has a next one.
  using Means = std::array<double, kHorizons + 1>;
  Means mean_{};
  std::array<double, kHorizons> variance_{};
  double rate_ = 0;
  double most_rate_ = 0;
  double made_sum_ = 0;  // Sum of the members' instants, in seconds.
  double shared_ = 0;    // Sum over the pool.
  int64_t members_ = 0;
  int64_t shortfalls_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_GROWTH_FORECAST_H_
