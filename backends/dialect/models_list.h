// The list of models (GET /v1/models). Engines differ in its fields. Pure and thread-safe.
#ifndef PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_
#define PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

struct ServedModel {
  std::string name;
  Tokens max_context{0};  // Prompt plus output. 0: not reported.
  std::string parent{};   // An adapter: the name of its base model. Empty: it is none.
  std::string root{};     // An adapter: its path. Empty: not reported.
  std::string owner{};    // owned_by. Empty: not reported.
  bool operator==(const ServedModel&) const = default;
};

// Of one engine, adapters included. The names of further models are not known.
inline constexpr size_t kMostModels = 1000;
// In bytes. Models with longer names, or with control characters in them, are left out.
inline constexpr size_t kLongestModelName = 1024;

struct ModelsList {
  std::vector<ServedModel> models;  // Aliases included; a LoRA adapter has the context of its parent.
  std::string owner;                // owned_by of the first model: vllm, sglang, llamacpp, library (Ollama), ...
};

// InvalidArgument when `body` is not a list of models. The context comes from max_model_len, context_length,
// max_context_length or meta.n_ctx, in this order.
absl::StatusOr<ModelsList> ParseModelsList(absl::string_view body);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_
