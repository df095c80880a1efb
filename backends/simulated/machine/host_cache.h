// The copies of prompt blocks that a simulated engine keeps in the memory of its host (vLLM's offloading connector,
// SGLang's HiCache, LMCache).
//
// A block is copied as it is computed, whatever the GPU keeps of it. Beyond the capacity, the block that was used
// longest ago goes. A prompt that is used makes its head the newest, so the tails of prompts go first. Invariant: at
// most `capacity` blocks. Owned by StepMachine. Store is O(1), Use O(blocks of the prompt).
#ifndef PENSTOCK_BACKENDS_SIMULATED_HOST_CACHE_H_
#define PENSTOCK_BACKENDS_SIMULATED_HOST_CACHE_H_

#include <cstdint>
#include <list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/machine/cache_change.h"

namespace penstock::simulated {

class HostCache {
 public:
  // Changes are written to `journal`, which outlives the cache. Null: nobody wants to know.
  HostCache(int64_t capacity, CacheJournal* journal) : capacity_(capacity), journal_(journal) {}
  // The table points into the list, so a copy would point into another cache.
  HostCache(const HostCache&) = delete;
  HostCache& operator=(const HostCache&) = delete;
  HostCache(HostCache&&) = default;
  HostCache& operator=(HostCache&&) = default;

  int64_t capacity() const { return capacity_; }
  int64_t size() const { return static_cast<int64_t>(blocks_.size()); }
  bool Contains(uint64_t block) const { return blocks_.contains(block); }

  // The block is the newest from now on.
  void Store(uint64_t block);
  // A sequence with this prompt begins. Returns the number of blocks in a row that are held from position `from` on,
  // before position `most`. The blocks of the prompt are the newest from now on.
  int64_t Use(const std::vector<uint64_t>& prompt, size_t from, int64_t most);

 private:
  using Order = std::list<uint64_t>;

  int64_t capacity_;
  CacheJournal* journal_;
  Order order_;  // Newest first.
  absl::flat_hash_map<uint64_t, Order::iterator> blocks_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_HOST_CACHE_H_
