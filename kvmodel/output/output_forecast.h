// Output length as a survival curve, learned online per model, per tenant and per shape of request.
//
// Two chains of cells begin at a model. One has the tenant, then tenant with prompt octave and limit. The other has the
// shape, then shape with prompt octave and limit. The prior is a log-normal with median 150, sigma 1.2, weight 5. A
// finer level knows more and has seen less, and no level is best everywhere. So each request reads the level that has
// forecast best for its tenant (level_scores.h). A tenant begins with the scores of its model, and a model with the
// tenant's detail. An adapter backs off to its base model, and teaches it. Tenants and shapes live in bounded stores:
// no flood of new ones evicts a cell that has learned something. No tenant becomes the curve of its model
// (tenant_part.h). Not thread-safe; one owner.
#ifndef PENSTOCK_KVMODEL_OUTPUT_OUTPUT_FORECAST_H_
#define PENSTOCK_KVMODEL_OUTPUT_OUTPUT_FORECAST_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/units.h"
#include "kvmodel/output/cell_store.h"
#include "kvmodel/output/length_cell.h"
#include "kvmodel/output/level_scores.h"
#include "kvmodel/output/survival_curve.h"

namespace penstock {

// Learns the curves; see the top of this file. Deterministic: equal calls give equal curves.
class OutputForecaster {
 public:
  struct Key {
    ModelId model;
    TenantId tenant;
    Tokens prompt{0};
    Tokens limit{0};     // 0: none given.
    uint64_t shape = 0;  // A hash of what the request has in common with others of its program; 0: nothing.
    std::optional<ModelId> base = std::nullopt;  // The base model, where `model` is an adapter.
    bool operator==(const Key&) const = default;
  };
  // The curve of each level at the arrival of one request.
  using Trial = std::array<std::shared_ptr<const SurvivalCurve>, kOutputLevels>;
  struct Reading {
    std::shared_ptr<const SurvivalCurve> curve;  // Never null.
    std::shared_ptr<const Trial> trial;          // Null: the end of this request is not judged.
  };

  // `max_cells` bounds the tenants' cells, and the shapes' cells too. The models' own cells stay. `chooses` false:
  // every request reads its tenant's detail.
  explicit OutputForecaster(size_t max_cells = 4096, bool chooses = true);

  // The curve for a request that arrives. All requests of a new tenant are judged, later each fourth. Five hash lookups
  // when nothing changed.
  Reading Read(const Key& key);
  // The curve of the level that has forecast best. Creates no cells: an unknown tenant gets its model's curve.
  std::shared_ptr<const SurvivalCurve> CurveFor(const Key& key);
  // A running stream went from `from` to `to` generated tokens: it reached and survived the bins in between.
  void Advance(const Key& key, Tokens from, Tokens to);
  // A stream ended by itself at `length` after Advance up to `length`. Cut streams (client gone, limit) are not ended
  // this way: they are censored by simply not being reported.
  void Finish(const Key& key, Tokens length);
  // Scores each level of a trial: the stream ended at `length`, or was cut there.
  void Judge(const Key& key, const Trial& trial, Tokens length, bool cut);

  // These models are gone, by id. O(cells).
  void Forget(const std::vector<bool>& models);

  // Cells of tenants and shapes now held.
  size_t cells() const { return tenants_.size() + shapes_.size(); }
  // The level that a request with this key reads.
  OutputLevel LevelOf(const Key& key);

 private:
  struct Cells {
    LengthCell* base = nullptr;  // Of the base model, where the model is an adapter.
    std::array<LengthCell*, kOutputLevels> levels{};
    LengthCell*& operator[](size_t level) { return levels[level]; }
    LengthCell* operator[](size_t level) const { return levels[level]; }
    bool any() const { return base != nullptr || levels[0] != nullptr; }
  };

  LengthCell* FindModel(ModelId model) const;
  LengthCell* TouchModel(ModelId model);
  // The existing cells of a key; null where there is none.
  Cells Find(const Key& key);
  // The same, creating what is missing and marking them as used. Cells of shapes are null without one.
  Cells Touch(const Key& key);
  // The weight of a stream in the cell of its model, where it goes on from `from` tokens or ends at them.
  static float WeightInModel(const Cells& cells, Tokens from);
  size_t Best(const Cells& cells) const;
  std::shared_ptr<const SurvivalCurve> CurveAt(const Cells& cells, size_t level) const;

  absl::flat_hash_map<ModelId, std::unique_ptr<LengthCell>> models_;
  CellStore tenants_;
  CellStore shapes_;
  std::shared_ptr<const SurvivalCurve> prior_;
  const bool chooses_;
  uint64_t reads_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_OUTPUT_OUTPUT_FORECAST_H_
