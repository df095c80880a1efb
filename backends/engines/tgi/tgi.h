// Text Generation Inference: limits from /info, pool and load from /metrics.
//
// A stream always begins with status 200; a refusal is its first event.
#ifndef PENSTOCK_BACKENDS_ENGINES_TGI_TGI_H_
#define PENSTOCK_BACKENDS_ENGINES_TGI_TGI_H_

#include "backends/engines/contract/engine_declaration.h"

namespace penstock {

extern const EngineDeclaration kTgiEngine;

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_TGI_TGI_H_
