// The state of an engine as plain values: the limits that Penstock reads at times, and the load that it reads with
// each poll.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_DISCOVERY_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_DISCOVERY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "backends/dialect/models_list.h"
#include "base/residency.h"
#include "base/units.h"

namespace penstock {

enum class EngineKind { kVllm, kSglang, kLlamaCpp, kTgi, kOllama, kOpenAi };

// A data-parallel rank of an engine: it has a cache and a batch of its own behind the engine's address.
struct RankFacts {
  int rank = 0;  // As the engine numbers it, and as requests may name it.
  Tokens kv_tokens{0};
  bool operator==(const RankFacts&) const = default;
};

// The limits of one engine. A field is zero or empty when the engine does not report it.
struct Discovery {
  EngineKind kind = EngineKind::kOpenAi;
  std::string version;
  std::vector<ServedModel> models;
  std::vector<std::string> left_out;  // The first names that it lists and that no client can ask for; harmless.
  size_t models_beyond = 0;           // Names beyond kMostModels, which the router does not take.
  Tokens kv_tokens{0};                // The KV pool that all running requests share; the sum over ranks.
  std::vector<RankFacts> ranks;       // In rising order; empty: one pool for all.
  Tokens block{0};
  int max_sequences = 0;  // Slots, or requests in one batch.
  Tokens batch_budget{0};
  Tokens sequence_limit{0};        // Tokens that one sequence may hold (a slot of llama-server). 0: as max_context.
  bool overflow_fatal = false;     // An exhausted pool fails every running request.
  bool speculates = false;         // A step makes several tokens of a sequence.
  bool process_per_model = false;  // The server only routes to one process per model, and has no load of its own.
  bool sleep_verbs_off = false;    // It was started without the requests that put it to sleep and wake it.
  std::string weights_path;        // It loses its weights when it sleeps, and can read them again from here.
  bool operator==(const Discovery&) const = default;
};

// The load of one rank; as in Observation.
struct RankLoad {
  int rank = 0;
  double kv_used_share = -1;
  int running = -1;
  int waiting = -1;
  int64_t preemptions = -1;
  int64_t cache_queries = -1;
  int64_t cache_hits = -1;
};

// The load of one engine at one moment. A number is negative when the engine does not report it.
struct Observation {
  double kv_used_share = -1;    // Share of the discovered capacity.
  int64_t kv_used_tokens = -1;  // Tokens in use, for a capacity that the configuration overrides.
  int running = -1;
  int waiting = -1;
  int64_t preemptions = -1;     // Since the engine started.
  int64_t cache_queries = -1;   // Tokens of prompts that were looked up in the prefix cache since then.
  int64_t cache_hits = -1;      // Tokens of those that were there.
  int64_t tokens = -1;          // Of prompts and outputs, computed since the engine started.
  std::vector<RankLoad> ranks;  // One per rank of an engine with several, in rising order.
  std::string fault;            // An optional page failed so, and its figures are missing. Empty: none did.
  SleepLevel sleep_level = SleepLevel::kUnsaid;  // Of the sleep, where it says so.
  bool sleeping = false;  // It accepts requests but runs none until it is woken. False where a request wakes it.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_DISCOVERY_H_
