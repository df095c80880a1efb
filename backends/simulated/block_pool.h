// The paged KV cache of one simulated engine: blocks, their reference counts and the order in which free ones are
// reused (vLLM v1/core/block_pool.py).
//
// A block is referenced by sequences or lies in the free queue. A free block may still hold cached tokens: it stays
// findable until it is taken again. Blocks without cached tokens go to the head of the queue (reused first), cached
// ones to its tail, last block of a sequence first, so heads of prompts survive longest. Cached content is either
// published under a hash that any sequence can find, or tagged as private to one sequence (a preempted sequence finds
// its own blocks again). Owned by StepMachine; every operation is O(1).
#ifndef PENSTOCK_BACKENDS_SIMULATED_BLOCK_POOL_H_
#define PENSTOCK_BACKENDS_SIMULATED_BLOCK_POOL_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/units.h"

namespace penstock::simulated {

using BlockIndex = int32_t;

// GPU memory that the caches of several engines draw from as they fill (kvcached style). Blocks in use count, free ones
// are given back at once, so such caches keep no prefixes. Shared by pools on one thread.
struct ElasticMemory {
  int64_t capacity = 0;  // Bytes.
  int64_t used = 0;
};

class BlockPool {
 public:
  explicit BlockPool(Blocks total) : BlockPool(total, nullptr, 0) {}
  // `elastic` (null: none), of which each block in use takes `block_bytes`, outlives the pool's last Release.
  BlockPool(Blocks total, ElasticMemory* elastic, int64_t block_bytes);

  int64_t Total() const { return static_cast<int64_t>(blocks_.size()) - 1; }
  // That can be taken now.
  int64_t Free() const {
    return elastic_ == nullptr ? free_ : std::min(free_, (elastic_->capacity - elastic_->used) / block_bytes_);
  }
  int64_t Used() const { return Total() - free_; }

  // Takes the block at the head of the free queue and forgets what it cached. Precondition: Free() > 0.
  BlockIndex Take();
  // One more reference to a cached block, free or not.
  void Reuse(BlockIndex block);
  // Gives up one reference of each, from the last to the first.
  void Release(const std::vector<BlockIndex>& blocks);

  // Marks a referenced block as holding the private content `tag` (not 0).
  void Tag(BlockIndex block, uint64_t tag);
  bool Holds(BlockIndex block, uint64_t tag) const;
  // Marks a referenced block as holding the shared content `hash`; without effect where another block holds it.
  void Publish(BlockIndex block, uint64_t hash);
  std::optional<BlockIndex> Find(uint64_t hash) const;
  bool IsFree(BlockIndex block) const { return blocks_[block].references == 0; }

 private:
  enum class Content : uint8_t { kNone, kPrivate, kShared };
  struct Block {
    uint64_t key = 0;
    int32_t references = 0;
    BlockIndex previous = 0;  // In the free queue, a ring through the sentinel.
    BlockIndex next = 0;
    Content content = Content::kNone;
  };

  void CountFree(int64_t change);
  void Unlink(BlockIndex block);
  void LinkAfter(BlockIndex position, BlockIndex block);

  std::vector<Block> blocks_;  // The last one is the sentinel of the ring.
  absl::flat_hash_map<uint64_t, BlockIndex> shared_;
  ElasticMemory* elastic_;
  int64_t block_bytes_;
  int64_t free_ = 0;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_BLOCK_POOL_H_
