#include "bench/simulation/engines/one_pool.h"

namespace penstock::bench {
namespace {

// A counter or a count of two ranks together; negative: one of them has none.
template <class Count>
Count Sum(Count one, Count other) {
  return one < 0 || other < 0 ? -1 : one + other;
}

void Join(Fleet& fleet, ReplicaSpec& whole, ReplicaSpec& rank) {
  rank.removed = true;
  whole.gpus.insert(whole.gpus.end(), rank.gpus.begin(), rank.gpus.end());
  whole.max_sequences += rank.max_sequences;
  whole.batch_budget += rank.batch_budget;
  whole.prefix_cache += rank.prefix_cache;
  for (size_t i = 0; i < whole.pools.size(); ++i) {
    fleet.pools[whole.pools[i].pool.value()].capacity += fleet.pools[rank.pools[i].pool.value()].capacity;
  }
}

}  // namespace

OnePool::OnePool(std::vector<std::vector<size_t>> engines, size_t replicas)
    : engines_(std::move(engines)), engine_of_(replicas, kNone) {
  for (size_t i = 0; i < engines_.size(); ++i) {
    for (const size_t rank : engines_[i]) engine_of_[rank] = i;
  }
}

void OnePool::ApplyTo(Fleet& fleet) const {
  for (const std::vector<size_t>& ranks : engines_) {
    ReplicaSpec& whole = fleet.replicas[ranks.front()];
    for (size_t i = 1; i < ranks.size(); ++i) Join(fleet, whole, fleet.replicas[ranks[i]]);
    const double a = whole.prior.a;
    whole.prior = whole.prior.Scaled(1 / static_cast<double>(ranks.size()));
    whole.prior.a = a;
  }
}

std::optional<EngineReport> OnePool::ReportOf(size_t replica, const std::vector<EngineReport>& newest) const {
  if (engine_of_[replica] == kNone) return newest[replica];
  const std::vector<size_t>& ranks = RanksOf(replica);
  if (ranks.back() != replica) return std::nullopt;
  EngineReport all = newest[ranks.front()];
  all.sampled_at = newest[replica].sampled_at;
  for (size_t i = 1; i < ranks.size(); ++i) {
    const EngineReport& rank = newest[ranks[i]];
    all.kv_used_share = Sum(all.kv_used_share, rank.kv_used_share);
    all.running = Sum(all.running, rank.running);
    all.waiting = Sum(all.waiting, rank.waiting);
    all.preemptions = Sum(all.preemptions, rank.preemptions);
    all.cache_queries = Sum(all.cache_queries, rank.cache_queries);
    all.cache_hits = Sum(all.cache_hits, rank.cache_hits);
  }
  // Not every rank has reported yet.
  if (all.kv_used_share < 0) return std::nullopt;
  all.kv_used_share /= static_cast<double>(ranks.size());
  return all;
}

std::vector<std::vector<size_t>> OnePool::Joined(std::vector<std::vector<size_t>> groups) const {
  std::vector<std::vector<size_t>> joined = engines_;
  for (std::vector<size_t>& group : groups) {
    if (!IsOne(group)) joined.push_back(std::move(group));
  }
  return joined;
}

}  // namespace penstock::bench
