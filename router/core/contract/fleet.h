// The fleet as the decision core sees it: pools, replicas, models, classes and tenants.
//
// An immutable description, made by the edge from configuration and discovery, and given to the core in a FleetChanged
// event. Ids are positions. A removed replica stays as a tombstone until nothing names it; its place is then vacant
// (vacancy.h) and may be given again. So do models and classes that the configuration and the engines dropped. The list
// of tenants holds the tenants of the present configuration only.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_FLEET_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_FLEET_H_

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/engine_role.h"
#include "base/ids.h"
#include "base/units.h"
#include "kvmodel/footprint.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {

// KV memory that requests compete for: one replica's own (static) or shared by the replicas of a GPU (elastic).
struct PoolSpec {
  std::string name;
  Amount capacity{0};
  bool in_bytes = true;         // False: the amounts are tokens.
  bool overflow_fatal = false;  // Exhaustion fails every running request (llama-server's unified pool).
  bool limited = false;  // One engine's part of elastic memory: an ElasticReport of its replica changes the capacity.
  bool operator==(const PoolSpec&) const = default;
};

// The memory that one sequence on a replica takes from one pool.
struct PoolShare {
  PoolId pool;
  Footprint footprint;
  bool operator==(const PoolShare&) const = default;
};

// A GPU whose memory awake replicas share.
struct GpuSpec {
  std::string name;
  Bytes memory{0};       // Its replicas may use so much together; 0: nobody knows, and nothing is gated.
  Bytes elastic{0};      // Beside it, for the caches of all its engines.
  bool managed = false;  // The core moves the limits of its engines, within `elastic`.
  bool operator==(const GpuSpec&) const = default;
};

// A host whose memory for the weights of sleeping replicas is bounded. Its GPUs have names that begin with its own and
// a slash.
struct HostSpec {
  std::string name;
  Bytes sleep_memory{0};
  bool operator==(const HostSpec&) const = default;
};

// A replica that may give its memory back.
struct SleepSpec {
  Duration after;  // It sleeps after being idle for so long, although nobody needs its memory.
  Duration wake;   // The time of a wake until some were measured.
  // The weights on each of its GPUs, which its sleep moves to a host with a bound (HostSpec); 0: it has no such sleep.
  Bytes weights{0};
  bool may_drop = false;  // It can drop them instead.
  Duration wake_dropped;  // The time of a wake after that, until some were measured.
  bool operator==(const SleepSpec&) const = default;
};

// The adapters that the engine of a replica loads and unloads by order.
struct AdapterSpec {
  std::vector<ModelId> on_demand;  // Some of ReplicaSpec::models: the engine has them while they are loaded.
  int most = 0;                    // So many are loaded at a time.
  Duration load;                   // The expected time of a load.
  Duration timeout;                // A load that takes longer has failed.
  bool operator==(const AdapterSpec&) const = default;
};

// A second tier of a replica's prefix cache, in the memory of its host. The engine copies prompt blocks there as it
// computes them, and loads those that its GPU no longer has.
struct HostCacheSpec {
  Tokens tokens{0};    // 0: there is none, or nobody knows its size.
  double seconds = 0;  // To load one token.
  bool operator==(const HostCacheSpec&) const = default;
};

struct ReplicaSpec {
  std::string name;
  std::vector<ModelId> models;  // Names it answers to: the base model and, where it has them, adapters.
  AdapterSpec adapters;
  std::vector<PoolShare> pools;  // Empty: memory is unknown and not gated.
  std::vector<uint32_t> gpus;    // Positions of the GPUs it runs on; neighbours share one.
  bool time_sliced = true;       // Busy neighbours multiply its step time; false: they share the GPU (MPS).
  StepCoefficients prior;
  bool prior_known = true;   // False: GPU or model unknown, the prior is a guess to be learned over.
  bool learns_steps = true;  // False: the prior is exact, observed steps teach nothing.
  Tokens max_context{0};     // Prompt plus output; 0: unknown.
  // The limits from before a reading of its engine found less. Nothing is refused for good that would fit them, until
  // another reading confirms the smaller figures. 0: there is no doubt.
  Tokens doubted_context{0};
  Tokens doubted_prompt{0};
  Tokens batch_budget{2048};  // Tokens per step.
  int max_sequences = 256;
  Tokens prefix_cache{0};  // Of cached prompts that its pool can keep; 0: the engine keeps none, or it is unknown.
  HostCacheSpec host_cache;
  bool shares_prompts = true;      // Its cache has one copy of a block, however many running requests begin with it.
  Duration abort_hold;             // After a running request is cancelled, its memory may stay taken this long.
  std::optional<SleepSpec> sleep;  // Left out: it is always awake.
  Bytes resident{0};               // Taken on each of its GPUs while it is awake: weights and its own cache.
  double price = 0;                // A second of its GPUs costs so much; 0: not known.
  EngineRole role = EngineRole::kBoth;
  double transfer = 0;  // Of kPrefill: seconds to hand over the cache of a token, until they are learned.
  bool removed = false;

  bool Serves(ModelId model) const { return std::find(models.begin(), models.end(), model) != models.end(); }
  bool operator==(const ReplicaSpec&) const = default;
};

struct ModelSpec {
  std::string name;
  std::optional<ModelId> base;  // It is an adapter of this model.
  bool storage = false;         // Its requests read or write much on the storage of the replica's node.
  bool operator==(const ModelSpec&) const = default;
};

struct ClassSpec {
  std::string name;
  Duration ttft;
  Duration tpot;
  Duration queue;
  bool refuse_late = true;  // False: goals are measured, never a reason to refuse or to delay.
  bool evictable = false;
  bool parking = true;  // With refuse_late: a stream that is far ahead of its due times may lend its memory.
  double share = 0.05;  // Guaranteed, of the prompt tokens that classes above it dispatch while it waits.
  // A request that waits so long goes before the classes above its own.
  Duration promote_after = Duration::Infinite();
  bool operator==(const ClassSpec&) const = default;
};

struct TenantLimits {
  Tokens tokens_per_minute{0};  // 0: no limit.
  int64_t max_concurrent = 0;   // Requests that wait or run; 0: no limit.
  bool any() const { return tokens_per_minute > Tokens(0) || max_concurrent > 0; }
  bool operator==(const TenantLimits&) const = default;
};

struct TenantSpec {
  TenantId id;  // RequestArrived::tenant of its requests; not a position.
  std::string name;
  double weight = 1;  // Share of service, relative to other tenants.
  TenantLimits limits;
  bool operator==(const TenantSpec&) const = default;
};

// The way in which the tenants of a class share the service of a model.
enum class FairnessMode : uint8_t {
  kNone,      // All count as one.
  kLeads,     // A tenant that got less than a part of its share goes first; else the order of the class decides.
  kWeighted,  // The tenant with the least service over its weight goes first.
};
// The service that a request is charged.
enum class ServiceUnit : uint8_t {
  kTokens,  // Prompt tokens, and output tokens twice.
  kMemory,  // KV memory times the seconds for which an engine holds it.
};
struct FairnessSpec {
  FairnessMode mode = FairnessMode::kNone;
  ServiceUnit unit = ServiceUnit::kTokens;
  bool operator==(const FairnessSpec&) const = default;
};

struct CoreLimits {
  int64_t max_queued_requests = 65'536;
  Bytes max_queued_bytes{1'073'741'824};
  // Time from a Forward action to the engine seeing the request; part of every latency forecast.
  Duration dispatch_delay = Duration::Milliseconds(2);
  bool operator==(const CoreLimits&) const = default;
};

struct Fleet {
  std::vector<GpuSpec> gpus;    // Positions are those of ReplicaSpec::gpus; one that is missing has unknown memory.
  std::vector<HostSpec> hosts;  // Those with a bound; their order means nothing.
  std::vector<PoolSpec> pools;
  std::vector<ReplicaSpec> replicas;
  std::vector<ModelSpec> models;
  std::vector<ClassSpec> classes;   // In service_class order, most urgent first.
  std::vector<TenantSpec> tenants;  // The configured tenants; a tenant without an entry has no limit.
  CoreLimits limits;
  FairnessSpec fairness;
  bool operator==(const Fleet&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_FLEET_H_
