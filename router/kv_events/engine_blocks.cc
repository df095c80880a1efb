#include "router/kv_events/engine_blocks.h"

#include <algorithm>
#include <utility>

namespace penstock {

bool EngineBlocks::Store(uint64_t hash, std::optional<uint64_t> parent) {
  const std::optional<int64_t> before = parent ? PositionOf(*parent) : std::optional<int64_t>(-1);
  Block& block = blocks_[hash];
  block.parent = parent;
  if (before) block.position = *before + 1;
  if (block.copies++ > 0) return false;
  ++stored_;
  return true;
}

bool EngineBlocks::Remove(uint64_t hash) {
  const auto found = blocks_.find(hash);
  if (found == blocks_.end()) return false;
  Block& block = found->second;
  if (block.copies == 0) return true;
  if (--block.copies > 0) return false;
  --stored_;
  Retire(hash, block);
  return true;
}

void EngineBlocks::Retire(uint64_t hash, Block& block) {
  ++block.removals;
  removed_.push_back(hash);
  if (removed_.size() <= kMostRemoved) return;
  const uint64_t oldest = removed_.front();
  removed_.pop_front();
  const auto found = blocks_.find(oldest);
  if (found == blocks_.end() || --found->second.removals > 0 || found->second.copies > 0) return;
  blocks_.erase(found);
  forgotten_.push_back(oldest);
}

bool EngineBlocks::IsStored(uint64_t hash) const {
  const auto found = blocks_.find(hash);
  return found != blocks_.end() && found->second.copies > 0;
}

std::optional<int64_t> EngineBlocks::PositionOf(uint64_t hash) const {
  const auto found = blocks_.find(hash);
  if (found == blocks_.end() || found->second.position < 0) return std::nullopt;
  return found->second.position;
}

std::optional<uint64_t> EngineBlocks::ParentOf(uint64_t hash) const {
  const auto found = blocks_.find(hash);
  return found == blocks_.end() ? std::nullopt : found->second.parent;
}

std::vector<uint64_t> EngineBlocks::PathTo(uint64_t hash) const {
  const std::optional<int64_t> position = PositionOf(hash);
  // A block that is its own parent climbs without an end.
  if (!position || *position >= static_cast<int64_t>(blocks_.size())) return {};
  std::vector<uint64_t> path(static_cast<size_t>(*position) + 1);
  std::optional<uint64_t> at = hash;
  for (size_t i = path.size(); i-- > 0;) {
    // A publisher that lies may give one block two places.
    if (!at || PositionOf(*at) != static_cast<int64_t>(i)) return {};
    path[i] = *at;
    at = ParentOf(*at);
  }
  return path;
}

void EngineBlocks::ForgetStored() {
  if (stored_ == 0) return;
  std::vector<uint64_t> stored;
  stored.reserve(stored_);
  for (const auto& [hash, block] : blocks_) {
    if (block.copies > 0) stored.push_back(hash);
  }
  // In an order that does not depend on the table.
  std::sort(stored.begin(), stored.end());
  stored_ = 0;
  for (const uint64_t hash : stored) {
    Block& block = blocks_[hash];
    block.copies = 0;
    Retire(hash, block);
  }
}

void EngineBlocks::Clear() { *this = EngineBlocks(); }

std::vector<uint64_t> EngineBlocks::TakeForgotten() { return std::exchange(forgotten_, {}); }

}  // namespace penstock
