// What Ollama says of itself, from the bodies of its endpoints to plain values. Pure.
#ifndef PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_FACTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/discovery.h"

namespace penstock {

// {"version": ".."} of /api/version; empty when it is none.
std::string ParseOllamaVersion(absl::string_view body);

// Every installed model of /api/tags, with the context of those that /api/ps shows as loaded. Ollama tells neither its
// pool nor its slots; they stay untold. InvalidArgument when /api/tags is none; an unusable /api/ps only tells nothing.
absl::StatusOr<std::vector<ServedModel>> ParseOllamaModels(absl::string_view tags, absl::string_view loaded);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_FACTS_H_
