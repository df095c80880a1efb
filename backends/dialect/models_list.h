// GET /v1/models, which every engine answers in its own way.
#ifndef PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_
#define PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/discovery.h"

namespace penstock {

struct ModelsList {
  std::vector<ServedModel> models;  // Aliases included; a LoRA adapter has the context of its parent.
  std::string owner;                // owned_by of the first model: vllm, sglang, llamacpp, library (Ollama), ...
};

// InvalidArgument when it is not a list of models. Context from max_model_len, meta.n_ctx, context_length or
// max_context_length, whichever is there.
absl::StatusOr<ModelsList> ParseModelsList(absl::string_view body);

// What the owner tells of the engine; nothing for names that engines let users choose.
std::optional<EngineKind> KindFromOwner(absl::string_view owner);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_
