#include "kvmodel/output/output_forecast.h"

#include <algorithm>
#include <bit>
#include <span>

#include "absl/container/inlined_vector.h"

namespace penstock {
namespace {

constexpr auto kModelLevel = static_cast<size_t>(OutputLevel::kModel);
constexpr auto kTenantLevel = static_cast<size_t>(OutputLevel::kTenant);
constexpr auto kTenantDetailLevel = static_cast<size_t>(OutputLevel::kTenantDetail);
constexpr auto kShapeLevel = static_cast<size_t>(OutputLevel::kShape);
constexpr auto kShapeDetailLevel = static_cast<size_t>(OutputLevel::kShapeDetail);

// The level above each; the model's is its own.
constexpr std::array<size_t, kOutputLevels> kParents = {kModelLevel, kModelLevel, kTenantLevel, kModelLevel,
                                                        kShapeLevel};

// A trial counts so much after each later one of the same tenant, and of the same model.
constexpr double kTenantFade = 0.99;
constexpr double kModelFade = 0.998;
// The scores of the model count as so many trials of the tenant.
constexpr double kModelTrials = 20;
// A tenant with fewer trials has all its requests judged, later one in so many.
constexpr double kNewTenantTrials = 50;
constexpr uint64_t kJudgedOneIn = 4;
// Zero for none, then 1 + log2.
int Octave(Tokens tokens) { return tokens > Tokens(0) ? std::bit_width(static_cast<uint64_t>(tokens.value())) : 0; }

int TenantDetail(const OutputForecaster::Key& key) {
  return 1 + 2 * Octave(key.prompt) + (key.limit > Tokens(0) ? 1 : 0);
}

int ShapeDetail(const OutputForecaster::Key& key) { return 1 + 64 * Octave(key.prompt) + Octave(key.limit); }

CellKey OfTenant(const OutputForecaster::Key& key, int detail) { return {key.model, key.tenant.value(), detail}; }

CellKey OfShape(const OutputForecaster::Key& key, int detail) { return {key.model, key.shape, detail}; }

// The ranked probability score on the octaves, negative. Beyond a cut nothing is known.
double ScoreOf(const SurvivalCurve& curve, Tokens length, bool cut) {
  double score = 0;
  for (int64_t edge = 2; edge < int64_t{1} << (kOutputBins / 12); edge *= 2) {
    const bool beyond = length.value() > edge;
    if (cut && !beyond) break;
    const double error = curve.At(static_cast<double>(edge)) - (beyond ? 1 : 0);
    score -= error * error;
  }
  return score;
}

}  // namespace

OutputForecaster::OutputForecaster(size_t max_cells, bool chooses)
    : tenants_(max_cells), shapes_(max_cells), prior_(PriorCurve()), chooses_(chooses) {}

LengthCell* OutputForecaster::FindModel(ModelId model) const {
  const auto found = models_.find(model);
  return found == models_.end() ? nullptr : found->second.get();
}

LengthCell* OutputForecaster::TouchModel(ModelId model) {
  std::unique_ptr<LengthCell>& cell = models_[model];
  if (cell == nullptr) cell = std::make_unique<LengthCell>();
  return cell.get();
}

OutputForecaster::Cells OutputForecaster::Find(const Key& key) {
  Cells cells;
  if (key.base) cells.base = FindModel(*key.base);
  cells[kModelLevel] = FindModel(key.model);
  if (cells[kModelLevel] == nullptr) return cells;
  cells[kTenantLevel] = tenants_.Find(OfTenant(key, 0));
  if (cells[kTenantLevel] != nullptr) cells[kTenantDetailLevel] = tenants_.Find(OfTenant(key, TenantDetail(key)));
  if (key.shape != 0) cells[kShapeLevel] = shapes_.Find(OfShape(key, 0));
  if (cells[kShapeLevel] != nullptr) cells[kShapeDetailLevel] = shapes_.Find(OfShape(key, ShapeDetail(key)));
  return cells;
}

OutputForecaster::Cells OutputForecaster::Touch(const Key& key) {
  Cells cells;
  if (key.base) cells.base = TouchModel(*key.base);
  cells[kModelLevel] = TouchModel(key.model);
  // The whole cell last, so that its details are evicted before it.
  cells[kTenantDetailLevel] = tenants_.Touch(OfTenant(key, TenantDetail(key)));
  cells[kTenantLevel] = tenants_.Touch(OfTenant(key, 0));
  if (key.shape == 0) return cells;
  cells[kShapeDetailLevel] = shapes_.Touch(OfShape(key, ShapeDetail(key)));
  cells[kShapeLevel] = shapes_.Touch(OfShape(key, 0));
  return cells;
}

size_t OutputForecaster::Best(const Cells& cells) const {
  if (!chooses_ || cells[kModelLevel] == nullptr) return kTenantDetailLevel;
  const LevelScores& model = cells[kModelLevel]->scores();
  const LevelScores* tenant = cells[kTenantLevel] == nullptr ? nullptr : &cells[kTenantLevel]->scores();
  const auto score = [&](size_t level) {
    return kModelTrials * model.MeanOf(level) + (tenant == nullptr ? 0 : tenant->SumOf(level));
  };
  size_t best = kTenantDetailLevel;
  for (size_t level = 0; level < kOutputLevels; ++level) {
    if (score(level) > score(best)) best = level;
  }
  return best;
}

std::shared_ptr<const SurvivalCurve> OutputForecaster::CurveAt(const Cells& cells, size_t level) const {
  if (!cells.any()) return prior_;
  absl::InlinedVector<LengthCell*, kCellDepth> chain;  // From the last cell to the first.
  if (cells[kModelLevel] != nullptr) {
    // A shape that nobody has seen says no more than its tenant.
    if (level >= kShapeLevel && cells[kShapeLevel] == nullptr) level = kTenantLevel;
    while (cells[level] == nullptr) level = kParents[level];
    chain.push_back(cells[level]);
    for (; level != kModelLevel; chain.push_back(cells[level])) level = kParents[level];
  }
  if (cells.base != nullptr) chain.push_back(cells.base);
  std::reverse(chain.begin(), chain.end());
  return LengthCell::CurveOf(std::span(chain));
}

std::shared_ptr<const SurvivalCurve> OutputForecaster::CurveFor(const Key& key) {
  const Cells cells = Find(key);
  return CurveAt(cells, Best(cells));
}

OutputLevel OutputForecaster::LevelOf(const Key& key) { return static_cast<OutputLevel>(Best(Find(key))); }

OutputForecaster::Reading OutputForecaster::Read(const Key& key) {
  const Cells cells = Find(key);
  Reading reading{CurveAt(cells, Best(cells)), nullptr};
  if (!chooses_ || cells[kModelLevel] == nullptr) return reading;
  LengthCell* tenant = cells[kTenantLevel];
  const bool is_new = tenant == nullptr || tenant->scores().trials() < kNewTenantTrials;
  if (++reads_ % kJudgedOneIn != 0 && !is_new) return reading;
  Trial trial;
  for (size_t level = 0; level < kOutputLevels; ++level) trial[level] = CurveAt(cells, level);
  reading.trial = std::make_shared<const Trial>(std::move(trial));
  return reading;
}

float OutputForecaster::WeightInModel(const Cells& cells, Tokens from) {
  const int halvings = cells[kModelLevel]->halvings();
  TenantPart& part = cells[kTenantLevel]->part();
  const float weight = part.WeightAt(halvings);
  if (LengthCell::InFirstBin(from)) part.Count(weight, halvings);
  return weight;
}

void OutputForecaster::Advance(const Key& key, Tokens from, Tokens to) {
  if (!LengthCell::PassesABin(from, to)) return;
  const Cells cells = Touch(key);
  const float weight = WeightInModel(cells, from);
  cells[kModelLevel]->Advance(from, to, weight);
  if (cells.base != nullptr) cells.base->Advance(from, to, weight);
  for (size_t level = kModelLevel + 1; level < kOutputLevels; ++level) {
    if (cells[level] != nullptr) cells[level]->Advance(from, to);
  }
}

void OutputForecaster::Finish(const Key& key, Tokens length) {
  const Cells cells = Touch(key);
  const float weight = WeightInModel(cells, length);
  cells[kModelLevel]->Finish(length, weight);
  if (cells.base != nullptr) cells.base->Finish(length, weight);
  for (size_t level = kModelLevel + 1; level < kOutputLevels; ++level) {
    if (cells[level] != nullptr) cells[level]->Finish(length);
  }
}

void OutputForecaster::Judge(const Key& key, const Trial& trial, Tokens length, bool cut) {
  const Cells cells = Find(key);
  if (cells[kModelLevel] == nullptr) return;
  LevelScores::Scores scores;
  for (size_t level = 0; level < kOutputLevels; ++level) {
    scores[level] = ScoreOf(*trial[level], length, cut);
  }
  cells[kModelLevel]->scores().Add(scores, kModelFade);
  if (cells[kTenantLevel] != nullptr) cells[kTenantLevel]->scores().Add(scores, kTenantFade);
}

void OutputForecaster::Forget(const std::vector<bool>& models) {
  absl::erase_if(models_, [&models](const auto& each) {
    return each.first.value() < models.size() && models[each.first.value()];
  });
  tenants_.Forget(models);
  shapes_.Forget(models);
}

}  // namespace penstock
