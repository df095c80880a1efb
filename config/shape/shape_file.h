// Model shapes from Hugging Face config.json files.
#ifndef PENSTOCK_CONFIG_SHAPE_SHAPE_FILE_H_
#define PENSTOCK_CONFIG_SHAPE_SHAPE_FILE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kvmodel/model_shape.h"

namespace penstock {

// The shape of the model that a config.json describes, under the given name. InvalidArgument names the field that is
// missing or wrong.
absl::StatusOr<ModelShape> ShapeFromHuggingFace(absl::string_view json, absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_SHAPE_SHAPE_FILE_H_
