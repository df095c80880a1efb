// Readers of the pages of llama-server. Pure functions from a body to plain values.
//
// No page shows whether the slots share one KV pool (the default without -np) or have a part each. With a shared pool
// each slot may take the whole pool, and one request too many fails all requests. So the readers take the pool as
// shared: capacity is the n_ctx of one slot, and overflow is fatal. Where the slots are split this wastes memory but
// harms no request; the configuration can then set kv_tokens to slots x n_ctx.
#ifndef PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_FACTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"
#include "backends/engines/contract/sleep_verbs.h"

namespace penstock {

// The body of /props: capacity, slots and build. In router mode only the build and process_per_model are set.
// InvalidArgument when the body is not from llama-server; `found` then stays as it is.
absl::Status ReadLlamaProps(absl::string_view body, Discovery* found);

// The body of /props in a poll: a sleeping server runs nothing. Its next request wakes it, so it does not count as
// `sleeping`. InvalidArgument as above.
absl::Status ReadLlamaSleep(absl::string_view body, const Discovery& found, Observation* seen);

// The body of /metrics: running and waiting requests. NotFound when the metric of running requests is missing.
absl::Status ReadLlamaMetrics(absl::string_view metrics, const Discovery& found, Observation* seen);

// The body of /slots: running requests and the tokens that they hold (prompt and output so far). An idle slot only
// caches tokens that the server may drop. InvalidArgument when the body is not an array of slots.
absl::Status ReadLlamaSlots(absl::string_view body, const Discovery& found, Observation* seen);

// The verbs of a server that has a process for each model. Both are answered before their end.
std::vector<VerbRequest> LlamaUnload(const SleepTarget& target);
std::vector<VerbRequest> LlamaLoad(const SleepTarget& target);
// The body of /models. A model that went to sleep by itself counts as awake, because a request wakes it.
EngineRest ReadLlamaRest(absl::string_view body, const SleepTarget& target);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_FACTS_H_
