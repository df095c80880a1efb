// What engines tell about themselves: plain values, no I/O.
#ifndef PENSTOCK_BACKENDS_ENGINES_DISCOVERY_H_
#define PENSTOCK_BACKENDS_ENGINES_DISCOVERY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

enum class EngineKind { kAuto, kVllm, kSglang, kLlamaCpp, kTgi, kOllama, kOpenAi };
absl::string_view EngineKindName(EngineKind kind);  // auto vllm sglang llamacpp tgi ollama openai
std::optional<EngineKind> EngineKindFromName(absl::string_view name);

struct ServedModel {
  std::string name;
  Tokens max_context{0};  // 0: not told.
};

// What an engine told about itself. Zero or empty: not told.
struct Discovery {
  EngineKind kind = EngineKind::kOpenAi;
  std::string version;
  std::vector<ServedModel> models;
  Tokens kv_tokens{0};  // Of the pool that running requests share.
  Tokens block{0};
  int max_sequences = 0;  // Slots or batch size.
  Tokens batch_budget{0};
  Tokens sequence_limit{0};     // Tokens one sequence may hold (llama-server slot), 0: as max_context.
  bool overflow_fatal = false;  // Exhausting the pool fails every running request.
};

// One observation. Negative: not told.
struct Observation {
  double kv_used_share = -1;    // Of the capacity the engine told at discovery.
  int64_t kv_used_tokens = -1;  // Where the engine counts tokens: for a capacity that the configuration overrides.
  int running = -1;
  int waiting = -1;
  int64_t preemptions = -1;
  bool sleeping = false;  // It takes requests but runs none until woken. Not set where a request wakes it.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_DISCOVERY_H_
