// Text Generation Inference: /info and /metrics. A stream always gets 200; refusals arrive as its first event.
#ifndef PENSTOCK_BACKENDS_ENGINES_TGI_TGI_ADAPTER_H_
#define PENSTOCK_BACKENDS_ENGINES_TGI_TGI_ADAPTER_H_

#include <memory>

#include "backends/engines/adapter.h"

namespace penstock {

std::unique_ptr<EngineAdapter> MakeTgiAdapter();

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_TGI_TGI_ADAPTER_H_
