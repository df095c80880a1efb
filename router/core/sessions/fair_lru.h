// A bounded set of keys with owners: the newest keys stay, and the owner with the most keys loses one first.
//
// So an owner that brings many keys pushes out its own. Invariant: at most `most` keys; every key is in the list of its
// owner. Owned by SessionBook. O(log owners).
#ifndef PENSTOCK_ROUTER_CORE_SESSIONS_FAIR_LRU_H_
#define PENSTOCK_ROUTER_CORE_SESSIONS_FAIR_LRU_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"

namespace penstock {

class FairLru {
 public:
  // `most`: one at least.
  explicit FairLru(size_t most) : most_(most) {}

  // The key, new or not, is the newest of its owner. Returns the key that makes room for it.
  std::optional<uint64_t> Put(uint64_t key, TenantId owner);
  // Void for a key that is not here.
  void Remove(uint64_t key);

  bool Contains(uint64_t key) const { return places_.contains(key); }
  size_t size() const { return places_.size(); }

 private:
  using Keys = std::list<uint64_t>;  // Newest first.
  struct Place {
    TenantId owner;
    Keys::iterator at;
  };

  void Resized(TenantId owner, size_t before, size_t after);

  size_t most_;
  absl::flat_hash_map<uint64_t, Place> places_;
  absl::flat_hash_map<TenantId, Keys> owners_;  // Those with a key.
  std::set<std::pair<size_t, TenantId>> sizes_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_SESSIONS_FAIR_LRU_H_
