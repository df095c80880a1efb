// The paged KV cache of one simulated engine: blocks, their reference counts and the order in which free ones are
// reused (vLLM v1/core/block_pool.py).
//
// A block has references or lies in the free queue. A free block may still hold cached tokens, and Find() finds it
// until Take() returns it. Blocks without cached tokens go to the head of the queue and are reused first. Cached blocks
// go to the tail, the last block of a sequence first, so the heads of prompts survive longest. Content is shared under
// a hash that any sequence can find, or private to one sequence, so that a preempted sequence finds its blocks again.
// Blocks take host memory from their first use on: an engine may report any size. Owned by StepMachine. Every operation
// is O(1).
#ifndef PENSTOCK_BACKENDS_SIMULATED_BLOCK_POOL_H_
#define PENSTOCK_BACKENDS_SIMULATED_BLOCK_POOL_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/machine/cache_change.h"
#include "base/units.h"

namespace penstock::simulated {

using BlockIndex = int32_t;

// GPU memory that the caches of several engines share (kvcached style). Only blocks in use take memory, so such caches
// keep no prefixes. The pools run on one thread.
struct ElasticMemory {
  int64_t capacity = 0;  // Bytes.
  int64_t used = 0;
};

class BlockPool {
 public:
  explicit BlockPool(Blocks total) : BlockPool(total, nullptr, 0) {}
  // Each block in use takes `block_bytes` of `elastic`, which must outlive the last Release(). Null: no shared memory.
  // Content that goes is written to `journal`, which outlives the pool. Null: nobody wants to know.
  BlockPool(Blocks total, ElasticMemory* elastic, int64_t block_bytes, CacheJournal* journal = nullptr);

  int64_t Total() const { return total_; }
  // The number of blocks that Take() can return now.
  int64_t Free() const {
    if (elastic_ == nullptr) return free_;
    const int64_t left = (elastic_->capacity - elastic_->used) / block_bytes_;
    return std::max<int64_t>(0, std::min({free_, left, most_ - Used()}));
  }
  // The blocks in use take at most so many bytes of the elastic memory. More of them stay until they are released.
  void SetLimit(int64_t bytes) { most_ = bytes / block_bytes_; }
  int64_t Used() const { return Total() - free_; }
  CacheJournal* journal() const { return journal_; }

  // Takes the block at the head of the free queue and forgets what it cached. Precondition: Free() > 0.
  BlockIndex Take();
  // One more reference to a cached block, free or not.
  void Reuse(BlockIndex block);
  // Removes one reference of each block, from the last block to the first.
  void Release(const std::vector<BlockIndex>& blocks);

  // Gives a referenced block the private content `tag`. Without effect on shared content. True: it had none.
  bool Tag(BlockIndex block, uint64_t tag);
  bool Holds(BlockIndex block, uint64_t tag) const;
  // Gives a referenced block the shared content `hash`. Without effect when another block holds it or this block has
  // content. True: it has it now.
  bool Publish(BlockIndex block, uint64_t hash);
  std::optional<BlockIndex> Find(uint64_t hash) const;
  bool IsFree(BlockIndex block) const { return blocks_[block].references == 0; }

 private:
  static constexpr BlockIndex kSentinel = 0;
  enum class Content : uint8_t { kNone, kPrivate, kShared };
  struct Block {
    uint64_t key = 0;
    int32_t references = 0;
    BlockIndex previous = kSentinel;  // The free queue is a ring through the sentinel.
    BlockIndex next = kSentinel;
    Content content = Content::kNone;
  };

  BlockIndex FirstFree();
  void CountFree(int64_t change);
  void Unlink(BlockIndex block);
  void LinkAfter(BlockIndex position, BlockIndex block);

  std::vector<Block> blocks_ = std::vector<Block>(1);  // The sentinel of the ring, and all blocks that were ever used.
  absl::flat_hash_map<uint64_t, BlockIndex> shared_;
  ElasticMemory* elastic_;
  int64_t block_bytes_;
  CacheJournal* journal_;
  int64_t total_;
  int64_t free_;
  int64_t most_ = INT64_MAX;  // Blocks in use, by the limit of its engine.
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_BLOCK_POOL_H_
