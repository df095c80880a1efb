// The blocks of one engine's prefix cache, by the engine's own names, and how they follow each other.
//
// A name stands for the tokens of a block and of all before it. So a block that was removed has the same name when it
// is stored again; the newest of them are remembered. An engine may store several copies of a block. Invariant: at most
// kMostStored blocks are stored, and kMostRemoved others known. Pure. PathTo and ForgetStored cost
// O(blocks), the rest O(1).
#ifndef PENSTOCK_ROUTER_KV_EVENTS_ENGINE_BLOCKS_H_
#define PENSTOCK_ROUTER_KV_EVENTS_ENGINE_BLOCKS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace penstock {

class EngineBlocks {
 public:
  // 16 million tokens in blocks of 16.
  static constexpr size_t kMostStored = size_t{1} << 20;
  static constexpr size_t kMostRemoved = size_t{1} << 16;

  // One more copy of the block. True: there was none.
  bool Store(uint64_t block, std::optional<uint64_t> parent);
  // One copy less. True: the engine has none now; also where it was not known to have one.
  bool Remove(uint64_t block);
  bool IsStored(uint64_t block) const;
  // Its place in prompts, from 0; nullopt: a block before it is not known.
  std::optional<int64_t> PositionOf(uint64_t block) const;
  std::optional<uint64_t> ParentOf(uint64_t block) const;
  // The blocks from the begin of the prompt to this one; empty: some are not known.
  std::vector<uint64_t> PathTo(uint64_t block) const;

  // Nobody knows what is stored; the blocks stay known.
  void ForgetStored();
  void Clear();
  // Removed blocks that are known no more, since the last call.
  std::vector<uint64_t> TakeForgotten();

  bool full() const { return stored_ >= kMostStored; }
  int64_t stored() const { return static_cast<int64_t>(stored_); }

 private:
  struct Block {
    std::optional<uint64_t> parent;
    int64_t position = -1;
    int32_t copies = 0;
    uint32_t removals = 0;  // Those whose turn to be forgotten has not come.
  };

  void Retire(uint64_t hash, Block& block);

  absl::flat_hash_map<uint64_t, Block> blocks_;
  std::deque<uint64_t> removed_;  // The oldest first; some are stored again.
  std::vector<uint64_t> forgotten_;
  size_t stored_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_ENGINE_BLOCKS_H_
