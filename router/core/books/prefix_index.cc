#include "router/core/books/prefix_index.h"

#include <algorithm>

namespace penstock {

void PrefixIndex::SetCapacity(int64_t blocks) {
  capacity_ = blocks;
  Trim();
}

int64_t PrefixIndex::Match(const std::vector<uint64_t>& prefix) const {
  // Mostly there is no hit, and the first block shows it.
  if (blocks_.empty() || prefix.empty() || !blocks_.contains(prefix.front())) return 0;
  const auto end =
      std::partition_point(prefix.begin(), prefix.end(), [this](uint64_t block) { return blocks_.contains(block); });
  return end - prefix.begin();
}

void PrefixIndex::Touch(const std::vector<uint64_t>& prefix) {
  if (capacity_ == 0) return;
  const size_t kept = std::min(prefix.size(), static_cast<size_t>(capacity_));
  for (size_t i = kept; i-- > 0;) {
    const auto found = blocks_.find(prefix[i]);
    if (found != blocks_.end()) {
      order_.splice(order_.begin(), order_, found->second);
    } else {
      order_.push_front(prefix[i]);
      blocks_.emplace(prefix[i], order_.begin());
    }
  }
  Trim();
}

void PrefixIndex::Clear() {
  order_.clear();
  blocks_.clear();
}

void PrefixIndex::Trim() {
  while (static_cast<int64_t>(order_.size()) > capacity_) {
    blocks_.erase(order_.back());
    order_.pop_back();
  }
}

}  // namespace penstock
