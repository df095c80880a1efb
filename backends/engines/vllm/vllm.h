// vLLM: capacity from its cache metrics, load from /metrics.
//
// vLLM answers 200 before it schedules a request. It closes an idle connection after 5 s. When a client leaves, vLLM
// frees its memory within one step.
#ifndef PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_H_
#define PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_H_

#include "backends/engines/contract/engine_declaration.h"

namespace penstock {

extern const EngineDeclaration kVllmEngine;

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_H_
