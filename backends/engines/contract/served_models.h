// The list of models as a discovery page.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_SERVED_MODELS_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_SERVED_MODELS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"

namespace penstock {

constexpr char kModelsPath[] = "/v1/models";

// Fills `found->models` from the body of /v1/models. InvalidArgument when the body is not a list of models.
absl::Status ReadServedModels(absl::string_view body, Discovery* found);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_SERVED_MODELS_H_
