// The models of the fleet in the words of Ollama's own API. Pure.
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_OLLAMA_TEXT_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_OLLAMA_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/units.h"

namespace penstock {

// Facts of a model file; a fleet has none.
inline constexpr absl::string_view kOllamaDetails =
    "\"details\":{\"parent_model\":\"\",\"format\":\"\",\"family\":\"\",\"families\":[],\"parameter_size\":\"\","
    "\"quantization_level\":\"\"}";

std::string OllamaTime(absl::Time time);
// One item of /api/tags. `since` is an OllamaTime.
std::string OllamaTag(absl::string_view name, absl::string_view since);
// One item of /api/ps: a model in memory.
std::string OllamaRunning(absl::string_view name, Tokens context);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_OLLAMA_TEXT_H_
