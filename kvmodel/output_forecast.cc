#include "kvmodel/output_forecast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

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
// Streams in a cell at which its counts halve; output_forecast.h has the measured alternatives.
constexpr float kHalveAt = 1000;
// A curve is good until the events behind it have grown by this share, or by this many (about thirty streams).
constexpr uint64_t kStaleShare = 128;
constexpr uint64_t kStaleEvents = 1000;
// A cell that has seen so many events, those of a dozen streams, is not evicted for a new one. Untuned.
constexpr uint64_t kKnownEvents = 1000;

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

// Zero for an empty prompt, then 1 + log2.
int PromptOctave(Tokens prompt) {
  return prompt > Tokens(0) ? std::bit_width(static_cast<uint64_t>(prompt.value())) : 0;
}

int BinOf(Tokens length) { return OutputBin(std::max<double>(1, length.AsDouble())); }

}  // namespace

OutputForecaster::OutputForecaster(size_t max_cells)
    : max_cells_(std::max<size_t>(2, max_cells)), prior_(std::make_shared<const SurvivalCurve>(PriorHazards())) {}

OutputForecaster::CellKey OutputForecaster::KeyOf(const Key& key, int level) {
  const int detail = level == 2 ? 1 + 2 * PromptOctave(key.prompt) + (key.limit_given ? 1 : 0) : 0;
  return {key.model, key.tenant, detail};
}

OutputForecaster::Chain OutputForecaster::Find(const Key& key) {
  Chain chain{};
  const auto model = models_.find(key.model);
  if (model == models_.end()) return chain;
  chain[0] = model->second.get();
  for (int level = 1; level < kLevels; ++level) {
    const auto cell = cells_.find(KeyOf(key, level));
    if (cell == cells_.end()) break;
    chain[level] = &cell->second->second;
  }
  return chain;
}

OutputForecaster::Chain OutputForecaster::Touch(const Key& key) {
  std::unique_ptr<Cell>& model = models_[key.model];
  if (model == nullptr) model = std::make_unique<Cell>();
  // The tenant's cell last, so that its details are evicted before it.
  Cell* detail = TouchTenant(KeyOf(key, 2));
  Cell* tenant = TouchTenant(KeyOf(key, 1));
  return {model.get(), tenant, detail};
}

OutputForecaster::Cell* OutputForecaster::TouchTenant(const CellKey& key) {
  if (const auto found = cells_.find(key); found != cells_.end()) {
    MarkUsed(found->second);
    return &found->second->second;
  }
  if (cells_.size() >= max_cells_) EvictOne();
  new_cells_.emplace_front(key, Cell{});
  cells_.emplace(key, new_cells_.begin());
  return &new_cells_.front().second;
}

void OutputForecaster::MarkUsed(Entries::iterator entry) {
  Cell& cell = entry->second;
  Entries& from = cell.known ? known_cells_ : new_cells_;
  cell.known = cell.known || cell.version >= kKnownEvents;
  Entries& to = cell.known ? known_cells_ : new_cells_;
  to.splice(to.begin(), from, entry);
  if (known_cells_.size() <= max_cells_ - max_cells_ / 4) return;
  known_cells_.back().second.known = false;
  new_cells_.splice(new_cells_.begin(), known_cells_, std::prev(known_cells_.end()));
}

void OutputForecaster::EvictOne() {
  // The two newest cells may belong to the request that is being counted.
  Entries& part = new_cells_.size() > 2 || known_cells_.empty() ? new_cells_ : known_cells_;
  cells_.erase(part.back().first);
  part.pop_back();
}

bool OutputForecaster::IsFresh(const Chain& chain, int depth) {
  const Cell& last = *chain[depth];
  if (last.curve == nullptr) return false;
  for (int level = 0; level <= depth; ++level) {
    // An evicted parent starts again below what the curve was built of.
    const uint64_t now = chain[level]->version;
    const uint64_t then = last.built[level];
    if (now < then || now - then > std::min(now / kStaleShare, kStaleEvents)) return false;
  }
  return true;
}

void OutputForecaster::Rebuild(const Chain& chain, int depth) {
  Hazards hazards = PriorHazards();
  for (int level = 0; level <= depth; ++level) {
    const Cell& cell = *chain[level];
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
      hazards[i] = (cell.ended[i] + weight * hazards[i]) / (cell.reached[i] + weight);
    }
    chain[depth]->built[level] = cell.version;
  }
  chain[depth]->curve = std::make_shared<const SurvivalCurve>(hazards);
}

std::shared_ptr<const SurvivalCurve> OutputForecaster::CurveFor(const Key& key) {
  const Chain chain = Find(key);
  int depth = -1;
  while (depth + 1 < kLevels && chain[depth + 1] != nullptr) ++depth;
  if (depth < 0) return prior_;
  if (!IsFresh(chain, depth)) Rebuild(chain, depth);
  return chain[depth]->curve;
}

void OutputForecaster::Advance(const Key& key, Tokens from, Tokens to) {
  const int first = BinOf(from);
  const int last = BinOf(to);
  if (first >= last) return;
  for (Cell* cell : Touch(key)) {
    for (int i = first; i < last; ++i) cell->reached[i] += 1;
    cell->version += static_cast<uint64_t>(last - first);
    HalveWhenFull(*cell);
  }
}

void OutputForecaster::Finish(const Key& key, Tokens length) {
  const int bin = BinOf(length);
  for (Cell* cell : Touch(key)) {
    cell->reached[bin] += 1;
    cell->ended[bin] += 1;
    ++cell->version;
    HalveWhenFull(*cell);
  }
}

void OutputForecaster::HalveWhenFull(Cell& cell) {
  // Every stream is counted once in the first bin, by leaving it or by ending there.
  if (cell.reached[0] < kHalveAt) return;
  for (int i = 0; i < kOutputBins; ++i) {
    cell.reached[i] /= 2;
    cell.ended[i] /= 2;
  }
}

}  // namespace penstock
