// The sleep of vLLM, as pure functions.
//
// The routes exist only with VLLM_SERVER_DEV_MODE=1, and they free memory only with --enable-sleep-mode. A sleeping
// vLLM accepts requests and lets them wait.
#ifndef PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_SLEEP_H_
#define PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_SLEEP_H_

#include <vector>

#include "absl/status/status.h"
#include "backends/engines/contract/sleep_verbs.h"

namespace penstock {

// Level 1 moves the weights to the host, level 2 discards them. Both discard the KV cache.
std::vector<VerbRequest> VllmSleep(const SleepTarget& target);
// After level 2 the weights are read between the two halves of the wake.
std::vector<VerbRequest> VllmWake(const SleepTarget& target);
// The body of /is_sleeping. It says true until all parts are awake.
EngineRest ReadVllmRest(absl::string_view body, const SleepTarget& target);

// The page as a sign that the verbs exist. A server that answers something else has none.
absl::Status ReadVllmVerbs(absl::string_view body, Discovery* found);
void NoteVllmWithoutVerbs(Discovery* found);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_SLEEP_H_
