#include "router/fleet/fleet_entry.h"

#include <utility>

#include "backends/engines/contract/renewed.h"
#include "config/values/capacity.h"

namespace penstock {
namespace {

// The entry of this rank among those that follow the first; a new one where there is none.
FleetEntry& FollowerOf(std::vector<FleetEntry>& entries, std::set<uint32_t>& free, uint32_t first, int rank) {
  for (uint32_t i = first + 1; i < entries.size(); ++i) {
    FleetEntry& entry = entries[i];
    if (entry.first == first && entry.place && entry.place->rank == rank) return entry;
  }
  const auto place = free.upper_bound(first);
  FleetEntry& added = place == free.end() ? entries.emplace_back() : entries[*place];
  if (place != free.end()) free.erase(place);
  added = FleetEntry();
  added.first = first;
  return added;
}

}  // namespace

std::vector<RankPlace> RanksOf(const KnownReplica& replica) {
  std::vector<RankPlace> places;
  if (replica.discovery) {
    const int ranks = static_cast<int>(replica.discovery->ranks.size());
    for (const RankFacts& facts : replica.discovery->ranks) {
      places.push_back({facts.rank, static_cast<int>(places.size()), ranks, facts.kv_tokens});
    }
    return places;
  }
  const int ranks = RanksOf(replica.config);
  for (int i = 0; ranks > 1 && i < ranks; ++i) places.push_back({i, i, ranks, Tokens(0)});
  return places;
}

KnownReplica ReplicaOf(const FleetEntry& entry) {
  KnownReplica replica{entry.config, entry.discovery};
  if (!entry.place) return replica;
  const RankPlace& place = *entry.place;
  replica.config = RankConfig(entry.config, place.rank, place.place, place.ranks);
  if (replica.discovery) replica.discovery->kv_tokens = place.kv_tokens;
  return replica;
}

bool TakeFacts(FleetEntry& entry, Discovery facts) {
  const std::optional<Discovery>& most = entry.doubted ? entry.doubted : entry.discovery;
  const bool less = most && HoldsLess(facts, *most);
  const bool confirmed = less && entry.doubted && *entry.discovery == facts;
  std::optional<Discovery> doubted;
  if (less && !confirmed) doubted = most;
  entry.doubted = std::move(doubted);
  entry.discovery = std::move(facts);
  return entry.doubted.has_value();
}

std::optional<KnownReplica> BeforeDoubt(const FleetEntry& entry) {
  if (!entry.doubted) return std::nullopt;
  FleetEntry before = entry;
  before.discovery = entry.doubted;
  for (const RankFacts& facts : entry.doubted->ranks) {
    if (before.place && before.place->rank == facts.rank) before.place->kv_tokens = facts.kv_tokens;
  }
  return ReplicaOf(before);
}

void PlanRanks(std::vector<FleetEntry>& entries, std::set<uint32_t>& free) {
  const auto engines = static_cast<uint32_t>(entries.size());
  for (uint32_t first = 0; first < engines; ++first) {
    if (entries[first].first != first) continue;
    std::vector<RankPlace> places;
    if (!entries[first].removed) places = RanksOf(entries[first]);
    // An engine that has no ranks and had none has no followers to look for.
    if (places.empty() && !entries[first].place) continue;
    entries[first].place.reset();
    if (!places.empty()) entries[first].place = places.front();
    for (FleetEntry& entry : entries) {
      if (entry.place && &entry != &entries[first] && entry.first == first) entry.removed = true;
    }
    for (size_t i = 1; i < places.size(); ++i) {
      FleetEntry& follower = FollowerOf(entries, free, first, places[i].rank);
      follower.config = entries[first].config;
      follower.discovery = entries[first].discovery;
      follower.doubted = entries[first].doubted;
      follower.place = places[i];
      follower.removed = false;
    }
  }
}

}  // namespace penstock
