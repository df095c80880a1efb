// The list of models (GET /v1/models). Engines differ in its fields. Pure and thread-safe.
#ifndef PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_
#define PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_

#include <cstddef>
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
// In bytes. Models with longer names are left out.
inline constexpr size_t kLongestModelName = 1024;

// False: empty, too long, or with control characters or characters that could not be read. Such a model is left out:
// clients can ask for no such name, and no log or metric shall show it.
bool IsModelName(absl::string_view name);
// Adds the name of a model that is left out. It is cut, and harmless for a terminal. The list has
// only the first few.
void NoteLeftOut(absl::string_view name, std::vector<std::string>* left_out);

struct ModelsList {
  std::vector<ServedModel> models;    // Aliases included; a LoRA adapter has the context of its parent.
  std::vector<std::string> left_out;  // See NoteLeftOut.
  size_t beyond = 0;                  // Names that follow kMostModels others, and are left out too.
  std::string owner;                  // owned_by of the first model: vllm, sglang, llamacpp, library (Ollama), ...
};

// InvalidArgument when `body` is not a list of models. The context comes from max_model_len, context_length,
// max_context_length or meta.n_ctx, in this order.
absl::StatusOr<ModelsList> ParseModelsList(absl::string_view body);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_MODELS_LIST_H_
