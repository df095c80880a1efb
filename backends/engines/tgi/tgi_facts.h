// What Text Generation Inference says of itself, from the bodies of its endpoints to plain values. Pure.
#ifndef PENSTOCK_BACKENDS_ENGINES_TGI_TGI_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_TGI_TGI_FACTS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/discovery.h"

namespace penstock {

// /info: model, tokens a request may have, requests at once (running and queued), version. InvalidArgument when it is
// not TGI's.
absl::StatusOr<Discovery> ParseTgiInfo(absl::string_view body);

// The pool, from tgi_batch_max_total_tokens of /metrics; zero before the engine set it.
Tokens TgiPool(absl::string_view metrics);

// Running, waiting and the reserved share: TGI reserves a request's whole max_new_tokens when it starts it.
Observation ReadTgiObservation(absl::string_view metrics);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_TGI_TGI_FACTS_H_
