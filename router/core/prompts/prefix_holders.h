// The replicas that hold a prompt's leading blocks, for all replicas together: no search asks each of them.
//
// Some blocks of each prompt are landmarks: its first block, and each kLandmark-th after it. A block is named by its
// chained hash, so it stands at the same place of every prompt. A replica that holds a block holds all before it. So
// the holders of a landmark hold the earlier landmarks too. Invariant: a replica is listed under a landmark while its
// PromptCache holds the block on its GPU. Owned by FleetState. Add is O(1), Remove O(holders of the block), Landmarks
// O(log blocks).
#ifndef PENSTOCK_ROUTER_CORE_PROMPTS_PREFIX_HOLDERS_H_
#define PENSTOCK_ROUTER_CORE_PROMPTS_PREFIX_HOLDERS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

namespace penstock {

class PrefixHolders {
 public:
  // Blocks between two landmarks: 4096 tokens.
  static constexpr size_t kLandmark = 8;
  static bool IsLandmark(size_t position) { return position % kLandmark == 0; }

  // Lays the table out for so many landmarks.
  void Reserve(size_t landmarks) { holders_.reserve(landmarks); }
  void Add(uint64_t block, uint32_t replica) {
    ++changes_;
    holders_[block].push_back(replica);
  }
  void Remove(uint64_t block, uint32_t replica);

  // The replicas that hold the block, by position and in no order.
  std::span<const uint32_t> Of(uint64_t block) const;
  // The leading landmarks of the prompt that some replica holds.
  size_t Landmarks(const std::vector<uint64_t>& prefix) const;
  // Calls of Add and Remove so far.
  uint64_t changes() const { return changes_; }

 private:
  uint64_t changes_ = 0;
  absl::flat_hash_map<uint64_t, absl::InlinedVector<uint32_t, 2>> holders_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PROMPTS_PREFIX_HOLDERS_H_
