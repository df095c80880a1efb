// Readers of the pages of SGLang. Pure functions from a body to plain values.
#ifndef PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_FACTS_H_
#define PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_FACTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"
#include "backends/engines/contract/sleep_verbs.h"

namespace penstock {

// The body of /server_info: pool (max_total_num_tokens), page size, running requests, prefill budget
// (chunked_prefill_size) and version. Limits of data-parallel ranks are added. InvalidArgument when the body is not
// from SGLang; `found` then stays as it is.
absl::Status ReadSglangServerInfo(absl::string_view body, Discovery* found);

// The body of /v1/loads, summed over data-parallel ranks. InvalidArgument when the body has no loads; `seen` then stays
// as it is.
absl::Status ReadSglangLoads(absl::string_view body, const Discovery& found, Observation* seen);

// Both verbs of --enable-memory-saver. Released weights are lost, unless SGLang keeps a copy on the host
// (--enable-weights-cpu-backup). Then they are read from disk again. SGLang dies of a release while requests run or
// wait, so it first has to flush its cache, which it refuses then.
std::vector<VerbRequest> SglangSleep(const SleepTarget& target);
std::vector<VerbRequest> SglangWake(const SleepTarget& target);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_FACTS_H_
