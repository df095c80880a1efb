// The prompt blocks that running requests of one replica hold, and how many requests hold each.
//
// Engines with a prefix cache keep one copy of a block, however many requests begin with it. A block is named by its
// chained hash (RequestArrived::prefix), so the users of a block hold every block before it. Along a prompt the users
// so become fewer, never more. Invariant: a block is in the table while it has a user. Owned by PromptCache. Add,
// Remove and Contains are O(1), the questions about a prompt O(log blocks).
#ifndef PENSTOCK_ROUTER_CORE_PROMPTS_LIVE_BLOCKS_H_
#define PENSTOCK_ROUTER_CORE_PROMPTS_LIVE_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"

namespace penstock {

class LiveBlocks {
 public:
  // One user more. Returns the user that had the block alone so far.
  std::optional<RequestId> Add(uint64_t block, RequestId user);
  // One user less. Returns the user that has the block alone from now on.
  std::optional<RequestId> Remove(uint64_t block, RequestId user);

  bool Contains(uint64_t block) const { return blocks_.contains(block); }
  // Leading blocks of a prompt with one user or more, and with two or more.
  int64_t Held(const std::vector<uint64_t>& prefix) const;
  int64_t Shared(const std::vector<uint64_t>& prefix) const;

  int64_t blocks() const { return static_cast<int64_t>(blocks_.size()); }
  int64_t shared_blocks() const { return shared_blocks_; }  // Those with two users or more.
  int64_t uses() const { return uses_; }                    // Pairs of a block and a user.

  bool operator==(const LiveBlocks&) const = default;

 private:
  struct Users {
    int64_t count = 0;
    uint64_t ids = 0;  // Their sum: the id of the only one where there is one.
    bool operator==(const Users&) const = default;
  };

  absl::flat_hash_map<uint64_t, Users> blocks_;
  int64_t shared_blocks_ = 0;
  int64_t uses_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PROMPTS_LIVE_BLOCKS_H_
