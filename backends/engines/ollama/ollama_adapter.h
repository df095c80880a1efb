// Ollama: names and loaded contexts only. It has no metrics; a poll shows that it answers.
#ifndef PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_ADAPTER_H_
#define PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_ADAPTER_H_

#include <memory>

#include "backends/engines/adapter.h"

namespace penstock {

std::unique_ptr<EngineAdapter> MakeOllamaAdapter();

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_ADAPTER_H_
