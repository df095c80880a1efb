// What llama-server says of itself, from the bodies of its endpoints to plain values. Pure.
//
// No endpoint tells whether its slots share one KV pool (the default when -np is not given) or have a part each. With a
// shared pool each slot claims the whole of it and one request too many fails all, so the slots are taken to share:
// capacity is the n_ctx of one slot and overflow is fatal. Where the slots are in fact split this wastes room but
// harms nobody; the configuration then says kv_tokens = slots x n_ctx.
#ifndef PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_FACTS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/discovery.h"

namespace penstock {

struct LlamaProps {
  int slots = 0;
  Tokens slot_context{0};
  bool sleeping = false;     // Its model is unloaded; the next request loads it. /slots would too.
  bool many_models = false;  // Router mode: a process for each model; slots and metrics need a model name.
  std::string build;
};

// InvalidArgument when it is not llama-server's /props.
absl::StatusOr<LlamaProps> ParseLlamaProps(absl::string_view body);

// The discovery of /props, without the models. In router mode nothing is told of capacity.
Discovery DiscoveryFromProps(const LlamaProps& props);

// /slots: running slots, the tokens they hold (prompt and output so far; idle slots are cache that may be dropped) and
// that as a share of `capacity`. InvalidArgument when it is not an array of slots.
absl::StatusOr<Observation> ReadLlamaSlots(absl::string_view body, Tokens capacity);

// /metrics: running and waiting.
Observation ReadLlamaMetrics(absl::string_view metrics);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_FACTS_H_
