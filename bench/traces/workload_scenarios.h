// Generated workloads that bring out one difficulty each; workload.h describes them.
#ifndef PENSTOCK_BENCH_TRACES_WORKLOAD_SCENARIOS_H_
#define PENSTOCK_BENCH_TRACES_WORKLOAD_SCENARIOS_H_

#include <vector>

#include "base/generator.h"
#include "bench/traces/trace.h"

namespace penstock::bench {

// Each appends the requests that arrive in [0, length) seconds, in any order.
void AntiPhase(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Bursts(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Flood(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Users(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Jobs(double length, Generator& generator, std::vector<TraceRequest>& requests);
void LongPrompts(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Mixture(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Giants(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Documents(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Agentic(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Rag(double length, Generator& generator, std::vector<TraceRequest>& requests);
void TwoClasses(double length, Generator& generator, std::vector<TraceRequest>& requests);
void ThreeClasses(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Limits(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Impatient(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Fanout(double length, Generator& generator, std::vector<TraceRequest>& requests);
template <int kModels>
void Market(double length, Generator& generator, std::vector<TraceRequest>& requests);
void Rotation(double length, Generator& generator, std::vector<TraceRequest>& requests);
void MultiModel(double length, Generator& generator, std::vector<TraceRequest>& requests);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_TRACES_WORKLOAD_SCENARIOS_H_
