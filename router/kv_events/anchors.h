// The engine block with which each prompt block of the router ends.
//
// The router cuts a prompt by bytes, the engine by tokens, and an anchor joins both. Names on both sides stand for
// content, so an anchor stays right while blocks come and go. Invariant: both tables have the same pairs; a prompt
// block has one anchor, an engine block has kMostOfOne at most. One prompt may be written in many ways. Pure; O(1).
#ifndef PENSTOCK_ROUTER_KV_EVENTS_ANCHORS_H_
#define PENSTOCK_ROUTER_KV_EVENTS_ANCHORS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "router/core/contract/event.h"

namespace penstock {

class Anchors {
 public:
  static constexpr size_t kMostOfOne = 8;

  std::span<const PromptBlock> At(uint64_t engine_block) const {
    const auto found = at_.find(engine_block);
    return found == at_.end() ? std::span<const PromptBlock>() : std::span<const PromptBlock>(found->second);
  }
  std::optional<uint64_t> Of(uint64_t prompt_block) const {
    const auto found = of_.find(prompt_block);
    return found == of_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
  }
  // In place of the anchor that it had. Returns the oldest block of the engine block, where it had to go.
  std::optional<PromptBlock> Bind(const PromptBlock& block, uint64_t engine_block) {
    Unbind(block.block);
    std::optional<PromptBlock> gone;
    if (const std::span<const PromptBlock> known = At(engine_block); known.size() == kMostOfOne) gone = known.front();
    if (gone) Unbind(gone->block);
    of_[block.block] = engine_block;
    at_[engine_block].push_back(block);
    return gone;
  }
  void Unbind(uint64_t prompt_block) {
    const auto found = of_.find(prompt_block);
    if (found == of_.end()) return;
    const auto at = at_.find(found->second);
    auto& blocks = at->second;
    const auto same = [prompt_block](const PromptBlock& each) { return each.block == prompt_block; };
    blocks.erase(std::remove_if(blocks.begin(), blocks.end(), same), blocks.end());
    if (blocks.empty()) at_.erase(at);
    of_.erase(found);
  }
  // The engine block is known no more.
  void Forget(uint64_t engine_block) {
    const auto found = at_.find(engine_block);
    if (found == at_.end()) return;
    for (const PromptBlock& each : found->second) of_.erase(each.block);
    at_.erase(found);
  }
  void Clear() { *this = Anchors(); }

  // Every pair, in an order that does not depend on the tables.
  std::vector<std::pair<PromptBlock, uint64_t>> All() const {
    std::vector<std::pair<PromptBlock, uint64_t>> all;
    for (const auto& [engine, blocks] : at_) {
      for (const PromptBlock& block : blocks) all.emplace_back(block, engine);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.position, a.first.block) < std::pair(b.first.position, b.first.block);
    });
    return all;
  }
  size_t size() const { return of_.size(); }

 private:
  absl::flat_hash_map<uint64_t, absl::InlinedVector<PromptBlock, 1>> at_;
  absl::flat_hash_map<uint64_t, uint64_t> of_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_ANCHORS_H_
