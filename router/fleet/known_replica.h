// A replica as its configuration and its engine describe it, and the parts of its ReplicaSpec that follow from both.
//
// Functions of their arguments only; thread-safe. `all` is the whole configuration, which has the models and the GPUs.
// A call costs O(models of the engine + GPUs of the replica).
#ifndef PENSTOCK_ROUTER_FLEET_KNOWN_REPLICA_H_
#define PENSTOCK_ROUTER_FLEET_KNOWN_REPLICA_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"
#include "base/units.h"
#include "config/config.h"
#include "kvmodel/footprint.h"
#include "router/core/contract/fleet.h"

namespace penstock {

struct KnownReplica {
  ReplicaConfig config;
  std::optional<Discovery> discovery;  // Empty until the engine answered.
};

struct PoolPlan {
  std::string name;
  Amount capacity{0};
  bool in_bytes = false;
  bool limited = false;  // As PoolSpec::limited.
};

// The memory of a replica: a pool per GPU, with the same footprint in each. A replica with `elastic` has two per GPU:
// the memory of all, and its own limit. No pool where the capacity is unknown.
struct MemoryPlan {
  Tokens max_context{0};   // Zero: unknown.
  Tokens prefix_cache{0};  // Zero: no cache, or elastic memory.
  HostCacheSpec host_cache;
  Footprint footprint;
  bool overflow_fatal = false;
  std::vector<PoolPlan> pools;
};

// The tag that Ollama adds to a name without one.
inline constexpr absl::string_view kLatestTag = ":latest";

// The configured model that `name` is or is an alias of; else `name`.
std::string CanonicalName(const Config& all, absl::string_view name);
// The name that the engine has for the replica's model; empty: it serves another one. An engine of one model may call
// it as it likes, as long as the shapes are not known to differ.
std::string NameOfModel(const Config& config, const ReplicaConfig& replica, const Discovery& found);
// Ollama lists NAME as NAME:latest and takes both. Such models get the name that the configuration has for them.
void SpellAsConfigured(const Config& all, const ReplicaConfig& replica, Discovery& found);
// The canonical name of the replica's own model, adapters aside; empty where it is unknown.
std::string BaseModel(const Config& all, const KnownReplica& replica);
MemoryPlan MemoryOf(const Config& all, const KnownReplica& replica);
// The longest prompt that a replica with this plan can hold, by the rule of the core (admission_checks.h).
Tokens LongestPrompt(const MemoryPlan& plan);
// Sets the batch budget, the rows, the hold of an abort and the prior of the step times.
void SetPace(const Config& all, const KnownReplica& replica, ReplicaSpec& spec);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_KNOWN_REPLICA_H_
