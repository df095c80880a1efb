// Any other server with the OpenAI routes: its models, and whether it answers.
#ifndef PENSTOCK_BACKENDS_ENGINES_OPENAI_OPENAI_H_
#define PENSTOCK_BACKENDS_ENGINES_OPENAI_OPENAI_H_

#include "backends/engines/contract/engine_declaration.h"

namespace penstock {

extern const EngineDeclaration kOpenAiEngine;

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_OPENAI_OPENAI_H_
