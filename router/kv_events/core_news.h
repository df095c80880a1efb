// The next reports to the core about one engine's cache: the newest state of each prompt block that changed, by tier.
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
  void Tell(const PromptBlock& block, bool stored) { Tell(block, stored, /*host=*/false); }
  void TellHost(const PromptBlock& block, bool stored) { Tell(block, stored, /*host=*/true); }
  // All of it, in the order in which the core is to take it.
  std::vector<CacheReport> Take(ReplicaId replica) {
    std::vector<CacheReport> reports;
    if (first_) reports.push_back({replica, *first_, {}, {}});
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (i % kBlocksPerReport == 0) reports.push_back({replica, CacheNews::kChanged, {}, {}});
      CacheReport& report = reports.back();
      const Change& change = blocks_[i];
      std::vector<PromptBlock>& stored = change.host ? report.host_stored : report.stored;
      std::vector<PromptBlock>& removed = change.host ? report.host_removed : report.removed;
      (change.stored ? stored : removed).push_back(change.block);
    }
    *this = CoreNews();
    return reports;
  }

 private:
  struct Change {
    PromptBlock block;
    bool stored = false;
    bool host = false;
  };

  void Tell(const PromptBlock& block, bool stored, bool host) {
    const auto [found, is_new] = place_.emplace(std::pair(block.block, host), blocks_.size());
    if (is_new) {
      blocks_.push_back({block, stored, host});
    } else {
      blocks_[found->second].stored = stored;
    }
  }

  std::optional<CacheNews> first_;
  std::vector<Change> blocks_;
  absl::flat_hash_map<std::pair<uint64_t, bool>, size_t> place_;  // In `blocks_`, by block and tier.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_CORE_NEWS_H_
