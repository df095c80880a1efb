// The output lengths of one kind of request, as decayed hazards on log-spaced bins.
//
// A cell counts the streams that reached a bin and the streams that ended in it (Kaplan-Meier). So running streams
// count as soon as they pass a bin. 10 pseudo-observations of its parent are blended into a cell. Counts halve at 1000
// streams: lengths drift within the hour, and halving at 3000 costs a point of calibration on recorded chat traffic.
// Not thread-safe; one owner.
#ifndef PENSTOCK_KVMODEL_OUTPUT_LENGTH_CELL_H_
#define PENSTOCK_KVMODEL_OUTPUT_LENGTH_CELL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/units.h"
#include "kvmodel/output/level_scores.h"
#include "kvmodel/output/survival_curve.h"
#include "kvmodel/output/tenant_part.h"

namespace penstock {

// Cells of one chain at most: a base model's, its adapter's, one below it, and one below that.
inline constexpr int kCellDepth = 4;

class LengthCell {
 public:
  // A stream is counted once in the first bin: as it leaves this bin, or as it ends there.
  static bool InFirstBin(Tokens length);
  // A stream went from `from` to `to` tokens: it reached and survived the bins in between. False: it passed none.
  static bool PassesABin(Tokens from, Tokens to);
  // The stream counts as `weight` streams, 0 to 1.
  void Advance(Tokens from, Tokens to, float weight = 1);
  // A stream ended at `length`.
  void Finish(Tokens length, float weight = 1);

  // Events seen; only grows.
  uint64_t version() const { return version_; }
  // The scores of the levels, over the outputs that ended here.
  LevelScores& scores() { return scores_; }
  // So often were its counts halved.
  int halvings() const { return halvings_; }
  // The part of a tenant in the cell of its model; for the whole cell of a tenant.
  TenantPart& part() { return part_; }

  // The curve of the last cell of a chain, which begins with a model's. It is rebuilt once a cell of the chain has
  // seen 1/128 more (at most a few dozen streams) than when it was made. A microsecond or two to rebuild.
  static const std::shared_ptr<const SurvivalCurve>& CurveOf(std::span<LengthCell* const> chain);

 private:
  static bool IsFresh(std::span<LengthCell* const> chain);
  static void Rebuild(std::span<LengthCell* const> chain);
  void HalveWhenFull();

  std::array<float, kOutputBins> reached_{};
  std::array<float, kOutputBins> ended_{};
  uint64_t version_ = 0;
  int halvings_ = 0;
  TenantPart part_;
  LevelScores scores_;
  std::shared_ptr<const SurvivalCurve> curve_;
  std::array<uint64_t, kCellDepth> built_{};  // Versions from the model down that the curve was made of.
};

// The curve of a model that nobody has asked: log-normal, median 150 tokens, sigma 1.2.
std::shared_ptr<const SurvivalCurve> PriorCurve();

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_OUTPUT_LENGTH_CELL_H_
