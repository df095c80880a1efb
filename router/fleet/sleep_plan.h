// The sleep of a replica as its configuration and its engine allow it.
//
// Functions of their arguments only; thread-safe.
#ifndef PENSTOCK_ROUTER_FLEET_SLEEP_PLAN_H_
#define PENSTOCK_ROUTER_FLEET_SLEEP_PLAN_H_

#include <optional>
#include <string>

#include "backends/engines/contract/sleep_verbs.h"
#include "config/config.h"
#include "router/core/contract/fleet.h"
#include "router/fleet/known_replica.h"

namespace penstock {

// Why a replica with `sleep` cannot sleep, for an operator; empty: it can. An engine that is not discovered yet cannot,
// unless commands or the simulation put it to sleep.
std::string SleepFault(const KnownReplica& replica);
// A warning for each replica with `sleep` whose configured engine cannot sleep and has no commands, before it is met.
std::vector<std::string> SleepKindWarnings(const Config& config);
// Nullopt: the replica is always awake.
std::optional<SleepSpec> SleepOf(const Config& all, const KnownReplica& replica);
// The memory of the replica on each of its GPUs while it is awake, as far as it is known.
Bytes ResidentOf(const Config& all, const KnownReplica& replica, const MemoryPlan& plan);
// The target of its verbs. `model` by the engine's own name. The level is that of a sleep which no order names; a wake
// by the deeper level is right after either.
SleepTarget SleepTargetOf(const KnownReplica& replica, const std::optional<SleepSpec>& spec, std::string model);
// Gives the models that an engine lists the names of the configuration. The replica of a server that loads and unloads
// each of its models serves its own model only.
void FitModels(const Config& all, const ReplicaConfig& replica, Discovery& found);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_SLEEP_PLAN_H_
