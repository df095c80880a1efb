// The parts of reading a Hugging Face config.json. Private to config/ (it exposes nlohmann-json).
//
// Field names and formulas: vLLM v1/kv_cache_interface.py and the models' own configuration classes.
#ifndef PENSTOCK_CONFIG_SHAPE_HUGGING_FACE_FIELDS_H_
#define PENSTOCK_CONFIG_SHAPE_HUGGING_FACE_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kvmodel/model_shape.h"

namespace penstock {

// Reads fields of the language model's part of a config.json: text_config and its like, then the outer object. The
// first field that is missing or wrong becomes the status.
class HuggingFaceFields {
 public:
  using Names = std::initializer_list<const char*>;

  explicit HuggingFaceFields(const nlohmann::json& document);

  // The value of the first of `names` that is present and not null; else null.
  const nlohmann::json* Find(Names names) const;
  bool Has(const char* name) const { return Find({name}) != nullptr; }
  // A whole number of 0 to 1e9 (the first element of a list); `missing` when absent.
  int64_t Whole(Names names, int64_t missing);
  // As Whole; absent or zero is an error.
  int Need(Names names);
  bool Flag(const char* name, bool missing) const;
  std::string Text(Names names) const;
  // The model_type of the language model.
  const std::string& model_type() const { return model_type_; }
  bool TypeStartsWith(absl::string_view prefix) const;

  void Fail(const std::string& message);
  const absl::Status& status() const { return status_; }

 private:
  const nlohmann::json* outer_;
  const nlohmann::json* inner_;
  std::string model_type_;
  absl::Status status_;
};

enum class LayerKind { kFull, kSliding, kRecurrent, kNone };

// The kind of cache of each layer, in order.
std::vector<LayerKind> LayerKinds(HuggingFaceFields& fields);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_SHAPE_HUGGING_FACE_FIELDS_H_
