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
//   antiphase    three models (model-a, -b, -c), each busy for a third of every 150 s while the others rest; about 6.8
//                req/s in all.
//   bursts       40 chat requests within 0.1 s every 6 s, shorter than any scrape period.
//   flood        eight tenants at 6 req/s in all, and one that sends 30 req/s from second 100 to 200 of every 300.
//   users        bursts of 60 chats within two seconds, every 20 s.
//   jobs         the same bursts beside background work of seven tenths of all tokens.
//   long-prompts one request a second of 14,000 to 18,000 prompt tokens.
//   mixture      small requests (200 tokens in, 300 out), 5 a second, and one of 14,000 tokens every 20 s.
//   giants       chat at 24 req/s, and 40 prompts of 60,000 tokens in the second after 60 s.
//   documents    sessions of long prompts that repeat what came before (prefix hashes), 0.8 a second.
//   agentic      sessions of coding agents: each call repeats a context of 14,000 to 126,000 tokens (prefix hashes) and
//                adds to it, some calls go out at once; about one a second.
//   fanout       bursts of 4 to 16 questions within 0.3 s over one document of 4,000 to 24,000 tokens (prefix hashes),
//                one burst every two seconds.
//   rag          questions over retrieved passages: 1,100 to 7,700 tokens of which two blocks are shared by all (prefix
//                hashes), about 2.9 a second.
//   two-classes  interactive chat (4 req/s) and standard requests (3 req/s) with their class, eight tenants each.
//   three-classes  the same, and long background work (1.5 req/s).
//   limits       chat of eight tenants at 8 req/s; half of them state a round max_output, which may cut an answer.
//   impatient    the same chat without limits; a tenth of the clients goes away after 5 s on average.
//   market       20 models (market-00 to -19) at 0.02 to 0.3 req/s each, in bursts of a minute and pauses of two; about
//                2.2 req/s in all. market-5, market-10 and market-40 have so many models.
//   rotation     five models (model-a to -e), each busy for half of every 300 s in turn; about 5 req/s in all.
//   multi-model  five models of different size and habit (m-large, m-mid, m-small, deepseek-r1, mm-image), 20 req/s.
//
// Fits: Azure LLM inference trace 2023 (Splitwise, ISCA 2024) and ServeGen (arXiv:2505.09999).
#ifndef PENSTOCK_BENCH_TRACES_WORKLOAD_H_
#define PENSTOCK_BENCH_TRACES_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"
#include "bench/traces/trace.h"

namespace penstock::bench {

// Requests arriving in [0, length). InvalidArgument names the known workloads.
absl::StatusOr<Trace> GenerateWorkload(absl::string_view name, Duration length, uint64_t seed);

const std::vector<std::string>& WorkloadNames();

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_TRACES_WORKLOAD_H_
