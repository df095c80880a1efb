// The prompt blocks that one replica's engine is expected to have cached although no running request holds them.
//
// Requests that ended left them. An engine takes their memory as it needs it, the oldest first, the last block of a
// prompt before its head. So the index holds no more than the memory that running requests leave free. Invariant: with
// the blocks of running requests, the blocks of a prompt in the index are a leading part of it. An expectation, never a
// promise: the engine evicts by its own rules. Another index of the same kind holds the blocks that the engine itself
// reported. It has no bound: the engine says when a block goes. Owned by PromptCache. Every operation is O(1).
#ifndef PENSTOCK_ROUTER_CORE_PROMPTS_PREFIX_INDEX_H_
#define PENSTOCK_ROUTER_CORE_PROMPTS_PREFIX_INDEX_H_

#include <cstdint>
#include <list>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace penstock {

class PrefixIndex {
 public:
  static constexpr int64_t kUnbounded = INT64_MAX;

  struct Block {
    uint64_t hash;
    bool landmark;
  };

  explicit PrefixIndex(int64_t capacity = 0) : capacity_(capacity) {}
  // The table points into the list, so a copy would point into another index.
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;
  PrefixIndex(PrefixIndex&&) = default;
  PrefixIndex& operator=(PrefixIndex&&) = default;

  // Forgets the oldest blocks beyond so many of kPrefixBlock tokens; 0 keeps nothing.
  void SetCapacity(int64_t blocks);
  // The last user of the block ended: it is the newest from now on. `landmark`: as in PrefixHolders.
  void Put(uint64_t block, bool landmark);
  // A running request holds the block.
  void Take(uint64_t block);
  void Clear();
  // Gives all of its blocks away, the oldest first, and holds none.
  std::vector<Block> TakeAll();
  // Landmarks that were forgotten since the last call of ForgetLost.
  const std::vector<uint64_t>& lost() const { return lost_; }
  void ForgetLost() { lost_.clear(); }

  bool Contains(uint64_t block) const { return blocks_.contains(block); }
  int64_t size() const { return static_cast<int64_t>(blocks_.size()); }

 private:
  using Order = std::list<Block>;

  void Trim();
  void Note(const Block& block) {
    if (block.landmark) lost_.push_back(block.hash);
  }

  int64_t capacity_;
  Order order_;  // Newest first.
  absl::flat_hash_map<uint64_t, Order::iterator> blocks_;
  std::vector<uint64_t> lost_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PROMPTS_PREFIX_INDEX_H_
