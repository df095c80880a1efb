#include "backends/simulated/machine/block_pool.h"

#include <cassert>
#include <limits>

namespace penstock::simulated {

BlockPool::BlockPool(Blocks total, ElasticMemory* elastic, int64_t block_bytes, CacheJournal* journal)
    : elastic_(elastic), block_bytes_(block_bytes), journal_(journal), total_(total.value()), free_(total.value()) {}

// The order: used blocks without cached tokens, blocks that were never used, cached blocks.
BlockIndex BlockPool::FirstFree() {
  const BlockIndex first = blocks_[kSentinel].next;
  const bool without_tokens = first != kSentinel && blocks_[first].content == Content::kNone;
  const bool all_made = static_cast<int64_t>(blocks_.size()) > total_;
  if (without_tokens || all_made) {
    Unlink(first);
    return first;
  }
  assert(blocks_.size() <= static_cast<size_t>(std::numeric_limits<BlockIndex>::max()));
  blocks_.emplace_back();
  return static_cast<BlockIndex>(blocks_.size() - 1);
}

BlockIndex BlockPool::Take() {
  assert(Free() > 0);
  const BlockIndex index = FirstFree();
  Block& block = blocks_[index];
  if (block.content == Content::kShared) shared_.erase(block.key);
  if (journal_ != nullptr && block.content != Content::kNone) {
    const uint64_t name = block.content == Content::kShared ? block.key : NameOfPrivate(block.key);
    journal_->push_back({CacheChange::Kind::kRemoved, name, std::nullopt, "", false});
  }
  block.content = Content::kNone;
  block.references = 1;
  CountFree(-1);
  return index;
}

void BlockPool::Reuse(BlockIndex index) {
  Block& block = blocks_[index];
  if (block.references++ > 0) return;
  Unlink(index);
  CountFree(-1);
}

void BlockPool::Release(const std::vector<BlockIndex>& blocks) {
  for (auto index = blocks.rbegin(); index != blocks.rend(); ++index) {
    Block& block = blocks_[*index];
    assert(block.references > 0);
    if (--block.references > 0) continue;
    LinkAfter(block.content == Content::kNone ? kSentinel : blocks_[kSentinel].previous, *index);
    CountFree(1);
  }
}

bool BlockPool::Tag(BlockIndex index, uint64_t tag) {
  Block& block = blocks_[index];
  assert(block.references > 0);
  if (block.content == Content::kShared) return false;
  const bool is_new = block.content == Content::kNone;
  block.content = Content::kPrivate;
  block.key = tag;
  return is_new;
}

bool BlockPool::Holds(BlockIndex index, uint64_t tag) const {
  const Block& block = blocks_[index];
  return block.content == Content::kPrivate && block.key == tag;
}

bool BlockPool::Publish(BlockIndex index, uint64_t hash) {
  Block& block = blocks_[index];
  assert(block.references > 0);
  if (block.content != Content::kNone || !shared_.emplace(hash, index).second) return false;
  block.content = Content::kShared;
  block.key = hash;
  return true;
}

std::optional<BlockIndex> BlockPool::Find(uint64_t hash) const {
  const auto found = shared_.find(hash);
  if (found == shared_.end()) return std::nullopt;
  return found->second;
}

void BlockPool::CountFree(int64_t change) {
  free_ += change;
  if (elastic_ != nullptr) elastic_->used -= change * block_bytes_;
}

void BlockPool::Unlink(BlockIndex index) {
  const Block& block = blocks_[index];
  blocks_[block.previous].next = block.next;
  blocks_[block.next].previous = block.previous;
}

void BlockPool::LinkAfter(BlockIndex position, BlockIndex index) {
  Block& block = blocks_[index];
  block.previous = position;
  block.next = blocks_[position].next;
  blocks_[block.next].previous = index;
  blocks_[position].next = index;
}

}  // namespace penstock::simulated
