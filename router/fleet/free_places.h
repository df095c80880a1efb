// The places of a fleet: those that are vacant, those that may be given again, and the search for one by its name.
//
// A place is given first where one is free, else the list grows. Functions of their arguments and values of FleetBook.
// A search costs O(places).
#ifndef PENSTOCK_ROUTER_FLEET_FREE_PLACES_H_
#define PENSTOCK_ROUTER_FLEET_FREE_PLACES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "config/config.h"
#include "router/core/contract/fleet.h"
#include "router/fleet/fleet_entry.h"

namespace penstock {

// Places that nobody has.
struct Vacated {
  std::vector<uint32_t> replicas;
  std::vector<uint32_t> pools;
  std::vector<uint32_t> gpus;
  std::vector<uint32_t> models;
  std::vector<uint32_t> classes;
  bool empty() const { return replicas.empty() && pools.empty() && gpus.empty() && models.empty() && classes.empty(); }
};

// Places that only the book may still name.
struct QuietPlaces {
  std::vector<ReplicaId> replicas;
  std::vector<bool> idle_pools;  // One entry per pool; true: it has no lease.
  std::vector<uint32_t> models;
  std::vector<uint32_t> classes;
  bool empty() const { return replicas.empty() && models.empty() && classes.empty(); }
};

// Vacant places that everybody has seen so.
struct FreePlaces {
  std::set<uint32_t> replicas;
  std::set<uint32_t> pools;
  std::set<uint32_t> gpus;
  std::set<uint32_t> classes;

  void Add(const Vacated& places) {
    replicas.insert(places.replicas.begin(), places.replicas.end());
    pools.insert(places.pools.begin(), places.pools.end());
    gpus.insert(places.gpus.begin(), places.gpus.end());
    classes.insert(places.classes.begin(), places.classes.end());
  }
  // The first free place from `least` on, which is taken; `end` where none is free.
  static uint32_t Take(std::set<uint32_t>& places, size_t end, uint32_t least = 0) {
    const auto first = places.lower_bound(least);
    return first == places.end() ? static_cast<uint32_t>(end) : places.extract(first).value();
  }
};

// The pool of this name and unit, and the GPU of this name; a new one where there is none.
PoolId PoolFor(Fleet& fleet, FreePlaces& free, const std::string& name, bool in_bytes);
uint32_t GpuFor(Fleet& fleet, FreePlaces& free, const std::string& name);

// The description of a place that nobody has.
ReplicaSpec VacantReplica();
// Makes those of the `quiet` entries vacant that are removed. An engine leaves with all of its ranks or stays. Returns
// the places.
std::vector<uint32_t> VacateEntries(const std::vector<ReplicaId>& quiet, std::vector<FleetEntry>& entries);
// The classes of the fleet that the configuration has, by id.
std::vector<bool> NamedClasses(const Config& config, const Fleet& fleet);
// Makes those of the `quiet` classes vacant that the configuration lacks. Returns their ids.
std::vector<uint32_t> VacateClasses(const Config& config, const std::vector<uint32_t>& quiet, Fleet& fleet);
// Makes pools and GPUs vacant that no replica has, tombstones included. Configured GPUs stay, and pools with leases.
void VacateUnused(const Config& config, const std::vector<bool>& idle_pools, Fleet& fleet, Vacated& vacated);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_FREE_PLACES_H_
