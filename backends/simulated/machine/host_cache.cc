#include "backends/simulated/machine/host_cache.h"

#include <algorithm>
#include <optional>

namespace penstock::simulated {

void HostCache::Store(uint64_t block) {
  if (capacity_ <= 0) return;
  const auto [found, is_new] = blocks_.try_emplace(block);
  if (!is_new) {
    order_.splice(order_.begin(), order_, found->second);
    return;
  }
  order_.push_front(block);
  found->second = order_.begin();
  if (journal_ != nullptr) journal_->push_back({CacheChange::Kind::kStored, block, std::nullopt, "", true});
  if (size() <= capacity_) return;
  if (journal_ != nullptr) journal_->push_back({CacheChange::Kind::kRemoved, order_.back(), std::nullopt, "", true});
  blocks_.erase(order_.back());
  order_.pop_back();
}

int64_t HostCache::Use(const std::vector<uint64_t>& prompt, size_t from, int64_t most) {
  if (blocks_.empty()) return 0;
  const size_t end = std::min(prompt.size(), static_cast<size_t>(std::max<int64_t>(0, most)));
  size_t held = from;
  while (held < end && Contains(prompt[held])) ++held;
  for (size_t i = prompt.size(); i-- > 0;) {
    const auto found = blocks_.find(prompt[i]);
    if (found != blocks_.end()) order_.splice(order_.begin(), order_, found->second);
  }
  return static_cast<int64_t>(held - from);
}

}  // namespace penstock::simulated
