// vLLM: capacity from its cache metrics, observation from /metrics, one scrape for both.
//
// It answers 200 before a request is scheduled and closes idle connections at 5 s; a vanished client frees its memory
// within a step.
#ifndef PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_ADAPTER_H_
#define PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_ADAPTER_H_

#include <memory>

#include "backends/engines/adapter.h"

namespace penstock {

std::unique_ptr<EngineAdapter> MakeVllmAdapter();

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_ADAPTER_H_
