// The output limits of the OpenAI dialect, which most engines read.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_OPENAI_LIMITS_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_OPENAI_LIMITS_H_

#include "backends/dialect/endpoint.h"

namespace penstock {

// A completion of no tokens scores its prompt.
inline constexpr OutputLimit kOpenAiLimits[] = {
    {"max_tokens", Endpoint::kChat},           {"max_completion_tokens", Endpoint::kChat},
    {"max_tokens", Endpoint::kCompletions, 0}, {"max_output_tokens", Endpoint::kResponses},
    {"max_tokens", Endpoint::kMessages},
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_OPENAI_LIMITS_H_
