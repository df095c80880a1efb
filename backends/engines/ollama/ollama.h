// Ollama: model names and the contexts of loaded models. It has no metrics; a poll shows only that it answers.
#ifndef PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_H_
#define PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_H_

#include "backends/engines/contract/engine_declaration.h"

namespace penstock {

extern const EngineDeclaration kOllamaEngine;

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_H_
