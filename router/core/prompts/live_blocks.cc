#include "router/core/prompts/live_blocks.h"

#include <algorithm>

namespace penstock {

std::optional<RequestId> LiveBlocks::Add(uint64_t block, RequestId user) {
  Users& users = blocks_[block];
  std::optional<RequestId> alone;
  if (users.count == 1) {
    alone = RequestId(users.ids);
    ++shared_blocks_;
  }
  ++users.count;
  users.ids += user.value();
  ++uses_;
  return alone;
}

std::optional<RequestId> LiveBlocks::Remove(uint64_t block, RequestId user) {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return std::nullopt;
  Users& users = found->second;
  --uses_;
  --users.count;
  users.ids -= user.value();
  if (users.count == 1) {
    --shared_blocks_;
    return RequestId(users.ids);
  }
  if (users.count == 0) blocks_.erase(found);
  return std::nullopt;
}

int64_t LiveBlocks::Held(const std::vector<uint64_t>& prefix) const {
  if (blocks_.empty()) return 0;
  const auto end =
      std::partition_point(prefix.begin(), prefix.end(), [this](uint64_t block) { return Contains(block); });
  return end - prefix.begin();
}

int64_t LiveBlocks::Shared(const std::vector<uint64_t>& prefix) const {
  if (shared_blocks_ == 0) return 0;
  const auto end = std::partition_point(prefix.begin(), prefix.end(), [this](uint64_t block) {
    const auto found = blocks_.find(block);
    return found != blocks_.end() && found->second.count > 1;
  });
  return end - prefix.begin();
}

}  // namespace penstock
