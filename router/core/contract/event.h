// The closed set of inputs of a decision core. Small comparable values; no pointers.
//
// The life of a request in events: RequestArrived, then FirstToken once the core answered Forward, and exactly one
// RequestClosed from its session. RequestRequeued undoes a Forward: the engine pushed back, died before the first
// byte, or the core asked for an abort. The request waits again under its old arrival time. A request that leaves
// while it waits closes with kClientGone. Events about unknown requests are void.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/health.h"
#include "base/ids.h"
#include "base/residency.h"
#include "base/units.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/storage_need.h"

namespace penstock {

// Tokens (or their byte equivalent) of a block that RequestArrived::prefix names.
inline constexpr Tokens kPrefixBlock{512};

struct RequestArrived {
  RequestId request;
  ModelId model;
  ClassId service_class;
  TenantId tenant;
  Tokens prompt{0};               // Estimate, of one sequence's prompt.
  double prompt_sigma = 0;        // Relative standard error of `prompt`.
  Tokens max_output{0};           // The client's limit; 0: none given.
  int sequences = 1;              // n: outputs that share the prompt.
  bool embedding = false;         // No decode phase: the answer ends with the prompt's step.
  bool observed = true;           // False: the engine answers in one piece, progress is forecast from the step rate.
  bool regenerable = true;        // May be aborted and placed again without the client seeing it.
  bool continues = true;          // It then goes on from the tokens that the client has, instead of from the start.
  bool whole = false;             // Its client gets the answer in one piece, also where its tokens are observed.
  bool divisible = true;          // Its prompt may be computed by another engine than its answer.
  Bytes body{0};                  // Held while it waits.
  std::optional<ReplicaId> home;  // It goes on from what this replica keeps: no other can take it.
  StorageNeed storage = StorageNeed::kUnsaid;  // As its client declared.

  // A hash of its system prompt, tools and formats, which requests of one program have in common; 0: it has none.
  uint64_t shape = 0;
  // A hash of the client's name for its conversation, scoped to the tenant; 0: it gave none. A hint, never a rule.
  uint64_t session = 0;
  // Chained hashes of the prompt's leading full blocks of kPrefixBlock tokens: equal hash, equal text up to there.
  std::vector<uint64_t> prefix;
  bool operator==(const RequestArrived&) const = default;
};

// The first token reached the router (or, where the engine answers in one piece, is taken to have).
struct FirstToken {
  RequestId request;
  bool operator==(const FirstToken&) const = default;
};

// The end of a request, seen from its session.
enum class Outcome : uint8_t {
  kFinished,      // The engine ended it: stop, length, tool_calls.
  kClientGone,    // Client vanished; waiting or running.
  kEngineFailed,  // Connection lost, garbage or error status; not retried.
  kRejected,      // The engine refused it as a bad request (4xx): nothing ran.
};

struct RequestClosed {
  RequestId request;
  Outcome outcome = Outcome::kFinished;
  Tokens prompt{0};        // From usage; 0: unknown.
  Tokens output{0};        // From usage or counted; of all sequences.
  bool hit_limit = false;  // finish_reason length: the output was cut, its natural length is longer.
  Tokens cached{-1};       // Of the prompt, as the engine reported; negative: it did not say.
  bool operator==(const RequestClosed&) const = default;
};

struct RequestRequeued {
  RequestId request;
  Tokens generated{0};        // Sent to the client so far, over all tries: the next prompt is longer by it.
  bool avoid_replica = true;  // The replica failed or pushed back: place it elsewhere if there is another.
  bool in_prefill = false;    // That replica is the one of Forward::prefill.
  bool operator==(const RequestRequeued&) const = default;
};

// The client has a part of the answer that no other run can go on from: the request runs to its end where it is. An
// Abort of it that may be declined is declined.
struct AnswerFixed {
  RequestId request;
  bool operator==(const AnswerFixed&) const = default;
};

struct StreamTokens {
  RequestId request;
  Tokens generated{0};
  bool operator==(const StreamTokens&) const = default;
};

// The first stage of a request on a pair has ended. FirstToken shows that the cache was handed over.
struct PrefillEnded {
  RequestId request;
  bool handed_over = true;  // False: the engine gave no cache away, so the other one computes the prompt.
  Tokens cached{-1};        // Of the prompt, as the engine reported; negative: it did not say.
  bool operator==(const PrefillEnded&) const = default;
};

// One sample of one replica's streams, every 20-50 ms while any runs.
struct ReplicaProgress {
  ReplicaId replica;
  int64_t steps = 0;        // Steps since the last sample: the most events any of its streams relayed.
  Instant newest_step_end;  // When the newest event arrived.
  bool delayed = false;     // All streams waited for their clients: the times say nothing of the engine.
  bool operator==(const ReplicaProgress&) const = default;
};

// Progress of the replicas that share a pool. Streams are taken to advance one token per step; those that did not
// (preempted, several tokens per event) are listed with their own count.
struct Progress {
  std::vector<ReplicaProgress> replicas;
  std::vector<StreamTokens> corrections;
  bool operator==(const Progress&) const = default;
};

// The figures that an engine reported when it was scraped. Negative: it did not report the figure.
struct EngineReport {
  ReplicaId replica;
  Instant sampled_at;
  double kv_used_share = -1;  // Of its capacity, 0..1.
  int running = -1;
  int waiting = -1;
  int64_t preemptions = -1;    // Counter since the engine's start.
  int64_t cache_queries = -1;  // Tokens of prompts since then.
  int64_t cache_hits = -1;     // Tokens of those in its prefix cache.
  bool operator==(const EngineReport&) const = default;
};

// The limit and the use of an engine's cache in elastic memory (kvcached), per GPU.
struct ElasticReport {
  ReplicaId replica;
  Instant sampled_at;
  Bytes limit{0};
  Bytes used{0};
  Bytes preallocated{0};  // Taken from the GPU, and free for this engine only.
  bool operator==(const ElasticReport&) const = default;
};

// The state of a replica's node, as the exporters of the node show it (router/live/nodes). Each report replaces the
// last.
struct NodeReport {
  ReplicaId replica;
  double derate = 1;            // Its steps take so many times as long; 1: the node is well.
  double storage_pressure = 0;  // Part of the node's storage that is not to be had, 0 to 1.
  bool closed = false;          // It takes new requests only where no other replica can.
  double cpu_pressure = 0;      // Part of the node's CPU time that work has to wait for, 0 to 1.
  bool operator==(const NodeReport&) const = default;
};

// A block of a prompt, as RequestArrived::prefix names it, and its place there.
struct PromptBlock {
  uint64_t block = 0;
  int64_t position = 0;
  bool operator==(const PromptBlock&) const = default;
};

// The meaning of a CacheReport for what the core knew of the cache.
enum class CacheNews : uint8_t {
  kChanged,  // The blocks of the report came and went.
  kCleared,  // The engine lost all that no request holds.
  kUnsure,   // Events were lost: what earlier reports said is an expectation from now on.
};

// The prompt blocks that an engine stored and removed, by its own events (router/kv_events). Any other
// block is expected as without events.
struct CacheReport {
  ReplicaId replica;
  CacheNews news = CacheNews::kChanged;
  std::vector<PromptBlock> stored;
  std::vector<PromptBlock> removed;
  // The same for copies in the memory of the host.
  std::vector<PromptBlock> host_stored = {};
  std::vector<PromptBlock> host_removed = {};
  bool operator==(const CacheReport&) const = default;
};

struct ReplicaHealth {
  ReplicaId replica;
  Health health = Health::kDown;
  bool operator==(const ReplicaHealth&) const = default;
};

// The end of a Sleep or Wake, or a change that somebody else made. A replica with ReplicaSpec::sleep
// counts as awake until its first event. A replica without it is always awake. After a failed
// Wake the replica is what `residency` says. Waking: its engine may hold the memory, and a further event tells its end.
struct ReplicaResidency {
  ReplicaId replica;
  Residency residency = Residency::kAwake;
  bool failed = false;                     // The order failed.
  Duration took;                           // From the order to its end; zero: nobody ordered it.
  SleepLevel level = SleepLevel::kUnsaid;  // Of a sleep that nobody ordered, where its engine tells it.
  bool operator==(const ReplicaResidency&) const = default;
};

// The end of a LoadAdapter, or what the engine was found to have. An adapter on demand counts as not loaded until its
// first event.
struct AdapterResidency {
  ReplicaId replica;
  ModelId model;
  bool loaded = false;
  bool failed = false;  // The order failed.
  Duration took;        // From the order to its end; zero: nobody ordered it.
  bool operator==(const AdapterResidency&) const = default;
};

struct FleetChanged {
  Fleet fleet;
  bool operator==(const FleetChanged&) const = default;
};

// The router drains: arrivals are refused from then on. Waiting requests are still served, and parked streams are due
// back at once.
struct ShutdownStarted {
  bool operator==(const ShutdownStarted&) const = default;
};

struct TimerFired {
  bool operator==(const TimerFired&) const = default;
};

using Event = std::variant<RequestArrived, FirstToken, RequestClosed, RequestRequeued, Progress, EngineReport,
                           ReplicaHealth, FleetChanged, ShutdownStarted, TimerFired, AnswerFixed, ReplicaResidency,
                           ElasticReport, AdapterResidency, NodeReport, PrefillEnded, CacheReport>;

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_H_
