// What SGLang says of itself, from the bodies of its endpoints to plain values. Pure.
#ifndef PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_FACTS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/discovery.h"

namespace penstock {

// /server_info: pool (max_total_num_tokens), page size, running requests allowed, prefill budget
// (chunked_prefill_size), version. InvalidArgument when it is not SGLang's.
absl::StatusOr<Discovery> ParseSglangServerInfo(absl::string_view body);

// /v1/loads: sums over data-parallel ranks; use weighted by their pools. InvalidArgument when it is none.
absl::StatusOr<Observation> ReadSglangLoads(absl::string_view body);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_FACTS_H_
