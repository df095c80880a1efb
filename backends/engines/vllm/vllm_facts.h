// What vLLM says of itself, from the bodies of its endpoints to plain values. Pure.
#ifndef PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_FACTS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "backends/engines/discovery.h"

namespace penstock {

// vllm:cache_config_info: the block size and the pool, from kv_cache_size_tokens, else num_gpu_blocks x block_size
// (right for models with one cache group). Data-parallel ranks (label engine) are summed. Leaves the rest of
// `discovery` alone.
void ReadVllmCapacity(absl::string_view metrics, Discovery* discovery);

// Running, waiting, KV use, preemptions, sleep. Sums over data-parallel ranks; the use is their mean, as all ranks have
// equal pools. kv_cache_usage_perc comes before its old name gpu_cache_usage_perc. Metrics that are off
// (--disable-log-stats) stay untold.
Observation ReadVllmObservation(absl::string_view metrics);

// True when the text has any vllm: metric.
bool LooksLikeVllm(absl::string_view metrics);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_FACTS_H_
