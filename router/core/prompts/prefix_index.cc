#include "router/core/prompts/prefix_index.h"

namespace penstock {

void PrefixIndex::SetCapacity(int64_t blocks) {
  capacity_ = blocks;
  Trim();
}

void PrefixIndex::Put(uint64_t block, bool landmark) {
  if (capacity_ <= 0) return;
  const auto [found, is_new] = blocks_.try_emplace(block);
  if (is_new) {
    order_.push_front({block, landmark});
    found->second = order_.begin();
  } else {
    order_.splice(order_.begin(), order_, found->second);
  }
  Trim();
}

void PrefixIndex::Take(uint64_t block) {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return;
  order_.erase(found->second);
  blocks_.erase(found);
}

void PrefixIndex::Clear() {
  for (const Block& block : order_) Note(block);
  order_.clear();
  blocks_.clear();
}

std::vector<PrefixIndex::Block> PrefixIndex::TakeAll() {
  std::vector<Block> all(order_.rbegin(), order_.rend());
  order_.clear();
  blocks_.clear();
  return all;
}

void PrefixIndex::Trim() {
  while (!order_.empty() && size() > capacity_) {
    Note(order_.back());
    blocks_.erase(order_.back().hash);
    order_.pop_back();
  }
}

}  // namespace penstock
