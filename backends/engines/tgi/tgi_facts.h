// Readers of the pages of Text Generation Inference. Pure functions from a body to plain values.
#ifndef PENSTOCK_BACKENDS_ENGINES_TGI_TGI_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_TGI_TGI_FACTS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"

namespace penstock {

// The body of /info: model, tokens of one request, requests at once (running and queued), version. InvalidArgument when
// the body is not from TGI.
absl::Status ReadTgiInfo(absl::string_view body, Discovery* found);

// The pool, from the metric tgi_batch_max_total_tokens. Zero until the engine has set it. Always OK.
absl::Status ReadTgiPool(absl::string_view metrics, Discovery* found);

// Running and waiting requests and the reserved tokens. TGI reserves all max_new_tokens of a request when it starts.
// Always OK.
absl::Status ReadTgiLoad(absl::string_view metrics, const Discovery& found, Observation* seen);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_TGI_TGI_FACTS_H_
