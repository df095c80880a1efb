// The next reports to the core about one engine's cache: the newest state of each prompt block that changed.
//
// Pure; O(1) per change.
#ifndef PENSTOCK_ROUTER_KV_EVENTS_CORE_NEWS_H_
#define PENSTOCK_ROUTER_KV_EVENTS_CORE_NEWS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "router/core/contract/event.h"

namespace penstock {

class CoreNews {
 public:
  // Blocks of one report: the core takes it in microseconds.
  static constexpr size_t kBlocksPerReport = 128;

  // All that waited to be reported is void.
  void Begin(CacheNews news) {
    *this = CoreNews();
    first_ = news;
  }
  void Tell(const PromptBlock& block, bool stored) {
    const auto [found, is_new] = place_.emplace(block.block, blocks_.size());
    if (is_new) {
      blocks_.emplace_back(block, stored);
    } else {
      blocks_[found->second].second = stored;
    }
  }
  // All of it, in the order in which the core is to take it.
  std::vector<CacheReport> Take(ReplicaId replica) {
    std::vector<CacheReport> reports;
    if (first_) reports.push_back({replica, *first_, {}, {}});
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (i % kBlocksPerReport == 0) reports.push_back({replica, CacheNews::kChanged, {}, {}});
      const auto& [block, stored] = blocks_[i];
      (stored ? reports.back().stored : reports.back().removed).push_back(block);
    }
    *this = CoreNews();
    return reports;
  }

 private:
  std::optional<CacheNews> first_;
  std::vector<std::pair<PromptBlock, bool>> blocks_;
  absl::flat_hash_map<uint64_t, size_t> place_;  // In `blocks_`.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_CORE_NEWS_H_
