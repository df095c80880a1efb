#include "kvmodel/output/cell_store.h"

#include <algorithm>
#include <iterator>

namespace penstock {
namespace {

// A cell that has seen so many events, those of a dozen streams, is not evicted for a new one. Untuned.
constexpr uint64_t kKnownEvents = 1000;

}  // namespace

CellStore::CellStore(size_t max_cells) : max_cells_(std::max<size_t>(2, max_cells)) {}

LengthCell* CellStore::Find(const CellKey& key) {
  const auto found = cells_.find(key);
  return found == cells_.end() ? nullptr : &found->second->cell;
}

LengthCell* CellStore::Touch(const CellKey& key) {
  if (const auto found = cells_.find(key); found != cells_.end()) {
    MarkUsed(found->second);
    return &found->second->cell;
  }
  if (cells_.size() >= max_cells_) EvictOne();
  new_cells_.emplace_front().key = key;
  cells_.emplace(key, new_cells_.begin());
  return &new_cells_.front().cell;
}

void CellStore::MarkUsed(Entries::iterator entry) {
  Entries& from = entry->known ? known_cells_ : new_cells_;
  entry->known = entry->known || entry->cell.version() >= kKnownEvents;
  Entries& to = entry->known ? known_cells_ : new_cells_;
  to.splice(to.begin(), from, entry);
  if (known_cells_.size() <= max_cells_ - max_cells_ / 4) return;
  known_cells_.back().known = false;
  new_cells_.splice(new_cells_.begin(), known_cells_, std::prev(known_cells_.end()));
}

void CellStore::Forget(const std::vector<bool>& models) {
  const auto forgotten = [&models](const Entry& entry) {
    return entry.key.model.value() < models.size() && models[entry.key.model.value()];
  };
  for (Entries* part : {&new_cells_, &known_cells_}) {
    for (const Entry& entry : *part) {
      if (forgotten(entry)) cells_.erase(entry.key);
    }
    part->remove_if(forgotten);
  }
}

void CellStore::EvictOne() {
  // The two newest cells may belong to the request that is being counted.
  Entries& part = new_cells_.size() > 2 || known_cells_.empty() ? new_cells_ : known_cells_;
  cells_.erase(part.back().key);
  part.pop_back();
}

}  // namespace penstock
