// Generated workloads with the length and arrival distributions of published LLM serving traces.
//
// Used where no trace file is at hand (`--trace generate:NAME`). Equal (name, length, seed) give equal workloads.
//
//   azure-conv   Azure 2023 chat service: 5.56 req/s, rate moving over minutes (Cox process on a 10 s grid, coefficient
//                of variation 0.19, lag-1 correlation 0.67); the output length depends on the prompt's bucket.
//   azure-code   Azure 2023 code completion: on/off bursts (on log-normal 2.58/0.81 s at about 8.3 req/s with Gamma
//                gaps of shape 0.3, off log-normal 3.06/1.03 s); long prompts, very short outputs.
//   chat         40 tenants of very unequal volume (log-normal, sigma 1.8) at 20 req/s in all, each with its own
//                median lengths, spread and burstiness.
//   reasoning    Reasoning outputs: 5 req/s, output median about 500 with a tail to 32,768 tokens, prompt and output
//                negatively correlated (Gaussian copula), 15 tenants.
//
// Fits: Azure LLM inference trace 2023 (Splitwise, ISCA 2024) and ServeGen (arXiv:2505.09999).
#ifndef PENSTOCK_BENCH_WORKLOAD_H_
#define PENSTOCK_BENCH_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/trace.h"
#include "kvmodel/units.h"

namespace penstock::bench {

// Requests arriving in [0, length). InvalidArgument names the known workloads.
absl::StatusOr<Trace> GenerateWorkload(absl::string_view name, Duration length, uint64_t seed);

const std::vector<std::string>& WorkloadNames();

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_WORKLOAD_H_
