// The options of a request in Ollama's own dialect, as fields of an OpenAI request. Pure.
#ifndef PENSTOCK_ROUTER_OLLAMA_OPTIONS_H_
#define PENSTOCK_ROUTER_OLLAMA_OPTIONS_H_

#include <optional>
#include <string>

#include "router/openai/error/api_error.h"
#include "router/openai/request/prompt_fields.h"

namespace penstock::ollama {

// Appends a member for each known option, with a comma before it; of an option that occurs twice the first counts.
// Others are left out. An error is the answer. Costs one pass over the options.
std::optional<ApiError> AppendOptions(const JsonValue& options, std::string* out);

}  // namespace penstock::ollama

#endif  // PENSTOCK_ROUTER_OLLAMA_OPTIONS_H_
