// Readers of the pages of vLLM. Pure functions from a body to plain values.
#ifndef PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_FACTS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"

namespace penstock {

// The body of /version. The version stays empty when the body has none. Always OK.
absl::Status ReadVllmVersion(absl::string_view body, Discovery* found);

// The metric vllm:cache_config_info: block size and pool. The pool is kv_cache_size_tokens, else num_gpu_blocks x
// block_size, which is right for models with one cache group. Pools of data-parallel ranks (label engine) are added,
// and listed where there are several. Where each of them tells the same blocks, those are of all, and are shared.
// Leaves the other fields alone. Always OK.
absl::Status ReadVllmCapacity(absl::string_view metrics, Discovery* found);

// The scheduler of /server_info, which only a server in development mode has: the requests and the tokens of one step.
// Always OK.
absl::Status ReadVllmScheduler(absl::string_view body, Discovery* found);

// Running and waiting requests, KV use, preemptions and sleep. Counts of data-parallel ranks are added. The KV use is
// the mean of the ranks, because all ranks have equal pools. Where the discovery has ranks, each is listed too.
// kv_cache_usage_perc wins over its older name gpu_cache_usage_perc. A metric that is off (--disable-log-stats) stays
// unreported. Always OK.
absl::Status ReadVllmLoad(absl::string_view metrics, const Discovery& found, Observation* seen);

// The question and the answer of /tokenize: the tokens of a text without any around it. `text` is the inside of a JSON
// string. Nullopt when the answer has no count.
std::string AskVllmCount(absl::string_view text);
std::optional<Tokens> ReadVllmCount(absl::string_view answer);

// True when the text has a metric whose name begins with "vllm:".
bool LooksLikeVllm(absl::string_view metrics);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_FACTS_H_
