// Output length as a survival curve, learned online per (model, tenant, prompt bucket, limit given).
//
// Each cell keeps decayed hazards on log-spaced bins (12 per octave, from 1 to 131072 tokens). It counts the streams
// that reached the bin and the streams that ended in it (Kaplan-Meier). So running streams count as soon as they pass a
// bin. 10 pseudo-observations of its parent are blended into a cell: (model, tenant, bucket, limit) <- (model, tenant)
// <- (model) <- prior. The prior is a log-normal with median 150, sigma 1.2, weight 5. Counts halve at 1000. Tenants
// live in a bounded LRU of two parts: a flood of new tenants evicts no cell that has learned something.
// Lengths are whole tokens: bins below about 17 tokens may hold none, and never end a stream.
// The 12 bins and the halving are measured on recorded chat traffic. Its lengths pile up within a tenth of an octave
// and drift within the hour. 6 bins per octave cost 6 points of calibration, halving at 3000 another one.
// Not thread-safe; one owner.
#ifndef PENSTOCK_KVMODEL_OUTPUT_FORECAST_H_
#define PENSTOCK_KVMODEL_OUTPUT_FORECAST_H_

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/units.h"

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

// Learns the curves; see the top of this file. Deterministic: equal calls give equal curves.
class OutputForecaster {
 public:
  struct Key {
    ModelId model;
    TenantId tenant;
    Tokens prompt{0};
    bool limit_given = false;
    bool operator==(const Key&) const = default;
  };

  // `max_cells` bounds the tenants' cells. The least recently observed one goes first, of those that have seen little
  // where there are some. The models' own cells stay.
  explicit OutputForecaster(size_t max_cells = 4096);

  // The blended curve of the most specific cell; never null. Rebuilt lazily: once a cell or an ancestor has seen 1/128
  // more (at most a few dozen streams) than when the curve was made. Three hash lookups when nothing changed, a
  // microsecond or two to rebuild. Creates no cells: an unknown tenant gets its model's curve.
  std::shared_ptr<const SurvivalCurve> CurveFor(const Key& key);
  // A running stream went from `from` to `to` generated tokens: it reached and survived the bins in between.
  void Advance(const Key& key, Tokens from, Tokens to);
  // A stream ended by itself at `length` after Advance up to `length`. Cut streams (client gone, limit) are not ended
  // this way: they are censored by simply not being reported.
  void Finish(const Key& key, Tokens length);

  // Cells of tenants now held.
  size_t cells() const { return cells_.size(); }

 private:
  static constexpr int kLevels = 3;  // Model; model and tenant; both with prompt bucket and limit.

  struct Cell {
    std::array<float, kOutputBins> reached{};
    std::array<float, kOutputBins> ended{};
    uint64_t version = 0;  // Events seen; only grows.
    bool known = false;    // It is in the part of the cells that have seen enough.
    std::shared_ptr<const SurvivalCurve> curve;
    std::array<uint64_t, kLevels> built{};  // Versions from the model down that `curve` was made of.
  };
  struct CellKey {
    ModelId model;
    TenantId tenant;
    int detail = 0;  // 0: the tenant's cell; else 1 + 2 * prompt octave + whether a limit was given.
    bool operator==(const CellKey&) const = default;
    template <class H>
    friend H AbslHashValue(H state, const CellKey& key) {
      return H::combine(std::move(state), key.model, key.tenant, key.detail);
    }
  };
  using Entry = std::pair<CellKey, Cell>;
  using Entries = std::list<Entry>;
  using Chain = std::array<Cell*, kLevels>;

  static CellKey KeyOf(const Key& key, int level);
  // The existing cells of a key from the model down; the chain ends at the first null.
  Chain Find(const Key& key);
  // The same, creating what is missing and marking the tenant's as used.
  Chain Touch(const Key& key);
  Cell* TouchTenant(const CellKey& key);
  // Moves a cell to the front of its part, and to the known ones once it has seen enough.
  void MarkUsed(Entries::iterator entry);
  void EvictOne();
  static bool IsFresh(const Chain& chain, int depth);
  static void Rebuild(const Chain& chain, int depth);
  static void HalveWhenFull(Cell& cell);

  size_t max_cells_;
  absl::flat_hash_map<ModelId, std::unique_ptr<Cell>> models_;
  // Most recently observed first. The known cells are at most three quarters of all.
  Entries new_cells_;
  Entries known_cells_;
  absl::flat_hash_map<CellKey, Entries::iterator> cells_;
  std::shared_ptr<const SurvivalCurve> prior_;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_OUTPUT_FORECAST_H_
