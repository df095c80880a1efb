// The place of a replica in the fleet, as the book keeps it.
//
// The data-parallel ranks of one engine are replicas of their own: each has a cache and a batch. The first of them
// stands for the engine: it is the one that is configured, watched and discovered. The others follow it.
#ifndef PENSTOCK_ROUTER_FLEET_FLEET_ENTRY_H_
#define PENSTOCK_ROUTER_FLEET_FLEET_ENTRY_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "router/fleet/known_replica.h"

namespace penstock {

// A rank among those of its engine.
struct RankPlace {
  int rank = 0;         // As the engine numbers it.
  int place = 0;        // From 0.
  int ranks = 1;        // All that the engine has.
  Tokens kv_tokens{0};  // Zero: as the engine's.
  bool operator==(const RankPlace&) const = default;
};

struct FleetEntry : KnownReplica {
  uint32_t first = 0;              // The position of the engine's first replica; its own where it is the first.
  std::optional<RankPlace> place;  // Empty: the engine has one rank.
  // The facts from before a reading that found less memory or context, until another reading confirms it.
  std::optional<Discovery> doubted;
  bool removed = false;
  bool vacant = false;  // Nobody has the place, and nothing is known of it.
  bool silent = false;
  uint64_t bringer = 0;  // FleetModels numbers the entries that bring names. 0: it brought none yet.
  absl::flat_hash_map<ModelId, std::string> engine_names;
};

// The ranks of an engine as far as they are known; empty: it has one. A simulated engine has those of its
// configuration until it was asked.
std::vector<RankPlace> RanksOf(const KnownReplica& replica);

// Takes another reading of the engine. True: its limits are less than they were, and no second reading says the same.
bool TakeFacts(FleetEntry& entry, Discovery facts);

// The replica as it was before the reading that is in doubt; none: there is no doubt.
std::optional<KnownReplica> BeforeDoubt(const FleetEntry& entry);

// The replica that one rank is: its name, its part of the GPUs, its cache. `entry` itself where the engine has one.
KnownReplica ReplicaOf(const FleetEntry& entry);

// Gives each engine an entry per rank, behind its first. Entries of ranks that are gone count as removed. A new entry
// is the first of `free` that is behind, else it is appended.
void PlanRanks(std::vector<FleetEntry>& entries, std::set<uint32_t>& free);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_FLEET_ENTRY_H_
