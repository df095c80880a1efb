// A bounded store of cells by owner: the tenants' or the shapes'.
//
// The store is a least-recently-used list of two parts. A flood of new owners evicts no cell that has learned
// something: the new cells go first. The known cells are at most three quarters of all. Not thread-safe; one owner.
#ifndef PENSTOCK_KVMODEL_OUTPUT_CELL_STORE_H_
#define PENSTOCK_KVMODEL_OUTPUT_CELL_STORE_H_

#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "kvmodel/output/length_cell.h"

namespace penstock {

struct CellKey {
  ModelId model;
  uint64_t owner = 0;
  int detail = 0;  // 0: the owner's whole cell.
  bool operator==(const CellKey&) const = default;
  template <class H>
  friend H AbslHashValue(H state, const CellKey& key) {
    return H::combine(std::move(state), key.model, key.owner, key.detail);
  }
};

class CellStore {
 public:
  // Holds `max_cells` cells, at least two.
  explicit CellStore(size_t max_cells);

  // Null: there is none. One hash lookup.
  LengthCell* Find(const CellKey& key);
  // The same, creating it and marking it as used. A pointer holds until two other cells were created.
  LengthCell* Touch(const CellKey& key);
  // Erases the cells of these models, by id. O(cells).
  void Forget(const std::vector<bool>& models);
  size_t size() const { return cells_.size(); }

 private:
  struct Entry {
    CellKey key;
    LengthCell cell;
    bool known = false;  // It is in the part of the cells that have seen enough.
  };
  using Entries = std::list<Entry>;

  // Moves an entry to the front of its part, and to the known ones once it has seen enough.
  void MarkUsed(Entries::iterator entry);
  void EvictOne();

  size_t max_cells_;
  // Most recently observed first.
  Entries new_cells_;
  Entries known_cells_;
  absl::flat_hash_map<CellKey, Entries::iterator> cells_;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_OUTPUT_CELL_STORE_H_
