// Any other server with the OpenAI routes: its models, and whether it answers.
#ifndef PENSTOCK_BACKENDS_ENGINES_OPENAI_OPENAI_ADAPTER_H_
#define PENSTOCK_BACKENDS_ENGINES_OPENAI_OPENAI_ADAPTER_H_

#include <memory>

#include "backends/engines/adapter.h"

namespace penstock {

std::unique_ptr<EngineAdapter> MakeOpenAiAdapter();

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_OPENAI_OPENAI_ADAPTER_H_
