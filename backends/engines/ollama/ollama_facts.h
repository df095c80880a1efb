// Readers of the pages of Ollama. Pure functions from a body to plain values.
//
// Ollama reports neither its pool nor its slots, so they stay unreported.
#ifndef PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_FACTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"
#include "backends/engines/contract/sleep_verbs.h"

namespace penstock {

// {"version": ".."} of /api/version. The version stays empty when the body has none. Always OK.
absl::Status ReadOllamaVersion(absl::string_view body, Discovery* found);

// Every installed model, from /api/tags. Each loaded one has a process of its own. InvalidArgument when the body is not
// a list of models.
absl::Status ReadOllamaTags(absl::string_view body, Discovery* found);

// The contexts of the loaded models, from /api/ps. Only models of /api/tags count. InvalidArgument when the body is not
// a list of models.
absl::Status ReadOllamaLoaded(absl::string_view body, Discovery* found);

// An empty request loads or unloads the model. A loaded one stays until it is unloaded. /api/generate loads no model
// for embeddings; /api/embed loads any model.
std::vector<VerbRequest> OllamaSleep(const SleepTarget& target);
std::vector<VerbRequest> OllamaWake(const SleepTarget& target);
// The body of /api/ps: the loaded models. A name without a tag means the tag "latest".
EngineRest ReadOllamaRest(absl::string_view body, const SleepTarget& target);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_OLLAMA_OLLAMA_FACTS_H_
