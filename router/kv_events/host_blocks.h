// The blocks of one engine's prefix cache that lie in the memory of its host, by the engine's own names.
//
// Their events (medium "CPU") name no tokens and no parents, so blocks of the GPU must explain them: an anchor tells
// the prompt block. Blocks that no anchor names yet are remembered until one does. Invariant: at most kMostBlocks;
// those beyond stay estimates. Pure. An event costs O(its blocks).
#ifndef PENSTOCK_ROUTER_KV_EVENTS_HOST_BLOCKS_H_
#define PENSTOCK_ROUTER_KV_EVENTS_HOST_BLOCKS_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "backends/kv_events/event_batch.h"
#include "router/kv_events/anchors.h"
#include "router/kv_events/core_news.h"

namespace penstock {

class HostBlocks {
 public:
  static constexpr absl::string_view kMedium = "CPU";
  static constexpr size_t kMostBlocks = size_t{1} << 20;

  // An event about blocks that were stored or removed there. `news` is null while the stream is not whole.
  void Take(const KvEvent& event, const Anchors& anchors, CoreNews* news) {
    const bool stored = event.kind == KvEventKind::kStored;
    for (const uint64_t block : event.blocks) {
      if (!stored) blocks_.erase(block);
      if (stored && blocks_.size() >= kMostBlocks) continue;
      if (stored) blocks_.insert(block);
      if (news == nullptr) continue;
      for (const PromptBlock& each : anchors.At(block)) news->TellHost(each, stored);
    }
  }
  // The prompt block has an anchor from now on.
  void TellBound(const PromptBlock& block, const Anchors& anchors, CoreNews& news) const {
    const std::optional<uint64_t> anchor = anchors.Of(block.block);
    if (anchor && blocks_.contains(*anchor)) news.TellHost(block, true);
  }
  // All that is known.
  void TellAll(const Anchors& anchors, CoreNews& news) const {
    if (blocks_.empty()) return;
    for (const auto& [block, anchor] : anchors.All()) {
      if (blocks_.contains(anchor)) news.TellHost(block, true);
    }
  }
  // Nobody knows what is there: the estimate of the core holds.
  void Clear() { blocks_.clear(); }
  int64_t size() const { return static_cast<int64_t>(blocks_.size()); }

 private:
  absl::flat_hash_set<uint64_t> blocks_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_HOST_BLOCKS_H_
