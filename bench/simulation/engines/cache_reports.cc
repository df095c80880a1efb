#include "bench/simulation/engines/cache_reports.h"

#include <utility>

namespace penstock::bench {

void CacheReports::Name(const std::vector<uint64_t>& prefix, const std::vector<uint64_t>& blocks) {
  const size_t parts = prefix.empty() ? 0 : blocks.size() / prefix.size();
  if (parts == 0) return;
  for (size_t i = 0; i < prefix.size(); ++i) {
    names_.try_emplace(blocks[(i + 1) * parts - 1], PromptBlock{prefix[i], static_cast<int64_t>(i)});
  }
}

void CacheReports::Send(size_t replica, const simulated::CacheJournal& changes) {
  using Kind = simulated::CacheChange::Kind;
  CacheReport report{ReplicaId(static_cast<uint32_t>(replica)), CacheNews::kChanged, {}, {}};
  // The newest change of a block counts: the core takes the removed blocks first.
  absl::flat_hash_map<std::pair<uint64_t, bool>, const simulated::CacheChange*> newest;
  for (const simulated::CacheChange& change : changes) {
    if (names_.contains(change.block)) newest[{change.block, change.host}] = &change;
  }
  for (const simulated::CacheChange& change : changes) {
    const auto last = newest.find({change.block, change.host});
    if (last == newest.end() || last->second != &change) continue;
    const PromptBlock& block = names_.at(change.block);
    const bool stored = change.kind == Kind::kStored;
    if (change.host) (stored ? report.host_stored : report.host_removed).push_back(block);
    if (!change.host) (stored ? report.stored : report.removed).push_back(block);
  }
  if (newest.empty()) return;
  size_t position = reports_.size();
  if (free_positions_.empty()) {
    reports_.emplace_back();
  } else {
    position = free_positions_.back();
    free_positions_.pop_back();
  }
  reports_[position] = std::move(report);
  events_.Schedule(events_.now() + delay_, Occurrence::kCacheReport, position);
}

CacheReport CacheReports::Take(uint64_t position) {
  free_positions_.push_back(position);
  return std::move(reports_[position]);
}

}  // namespace penstock::bench
