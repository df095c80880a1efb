#include "router/live/fleet/engine_reports.h"

#include <algorithm>
#include <optional>

#include "backends/engines/contract/possible.h"

namespace penstock {
namespace {

// The used share of the capacity that counts: a configured one goes before the engine's own.
double UsedShare(const FleetBook& book, ReplicaId replica, const Observation& seen) {
  const std::optional<Tokens> configured = book.replica_config(replica).kv_tokens;
  if (!configured || configured->value() <= 0 || seen.kv_used_tokens < 0) return seen.kv_used_share;
  return PossibleUse(static_cast<double>(seen.kv_used_tokens) / configured->AsDouble());
}

}  // namespace

std::vector<EngineReport> ReportsOf(const FleetBook& book, ReplicaId first, const Observation& seen, Instant at) {
  std::vector<EngineReport> reports;
  if (!book.entry(first).place) {
    return {EngineReport{first, at, UsedShare(book, first, seen), seen.running, seen.waiting, seen.preemptions,
                         seen.cache_queries, seen.cache_hits}};
  }
  for (const ReplicaId replica : book.RanksOf(first)) {
    const int rank = book.entry(replica).place->rank;
    const auto load =
        std::find_if(seen.ranks.begin(), seen.ranks.end(), [rank](const RankLoad& each) { return each.rank == rank; });
    if (load == seen.ranks.end()) continue;
    reports.push_back({replica, at, load->kv_used_share, load->running, load->waiting, load->preemptions,
                       load->cache_queries, load->cache_hits});
  }
  return reports;
}

std::vector<ReplicaId> AllRanks(const FleetBook& book, ReplicaId first) {
  std::vector<ReplicaId> ranks;
  for (uint32_t i = first.value(); i < book.fleet().replicas.size(); ++i) {
    if (book.entry(ReplicaId(i)).first == first.value()) ranks.emplace_back(i);
  }
  return ranks;
}

std::vector<ReplicaId> RanksGone(const FleetBook& book, ReplicaId first) {
  std::vector<ReplicaId> ranks = AllRanks(book, first);
  std::erase_if(ranks, [&book](ReplicaId rank) { return !book.removed(rank); });
  return ranks;
}

std::vector<Event> HealthOfRanks(const FleetBook& book, ReplicaId first, Health health) {
  std::vector<Event> events;
  for (const ReplicaId rank : book.RanksOf(first)) events.emplace_back(ReplicaHealth{rank, health});
  return events;
}

void Append(const std::vector<Event>& more, std::vector<Event>& events) {
  events.insert(events.end(), more.begin(), more.end());
}

}  // namespace penstock
