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

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kvmodel/units.h"

namespace penstock::simulated {

using BlockIndex = int32_t;

class BlockPool {
 public:
  explicit BlockPool(Blocks total);

  int64_t Total() const { return static_cast<int64_t>(blocks_.size()) - 1; }
  int64_t Free() const { return free_; }
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

  void Unlink(BlockIndex block);
  void LinkAfter(BlockIndex position, BlockIndex block);

  std::vector<Block> blocks_;  // The last one is the sentinel of the ring.
  absl::flat_hash_map<uint64_t, BlockIndex> shared_;
  int64_t free_ = 0;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_BLOCK_POOL_H_
