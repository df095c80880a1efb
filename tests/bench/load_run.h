// Short runs of the load client against a scripted endpoint.
#ifndef PENSTOCK_TESTS_BENCH_LOAD_RUN_H_
#define PENSTOCK_TESTS_BENCH_LOAD_RUN_H_

#include <gtest/gtest.h>

#include "bench/load/load_client.h"
#include "tests/bench/scripted_endpoint.h"

namespace penstock::bench {

inline Trace Requests(int count, double gap_s = 0.005) {
  Trace trace;
  for (int i = 0; i < count; ++i) {
    TraceRequest request;
    request.arrival = Duration::Seconds(i * gap_s);
    request.tenant = "team";
    request.prompt = Tokens(50);
    request.output = Tokens(7 + i);
    trace.requests.push_back(request);
  }
  trace.length = Duration::Seconds(1);
  return trace;
}

inline LoadClientOptions To(const ScriptedServer& server) {
  LoadClientOptions options;
  options.targets = {server.Target()};
  options.model = "m";
  options.drain = Duration::Seconds(20);
  return options;
}

inline LoadOutcome Load(const Trace& trace, const LoadClientOptions& options) {
  const auto outcome = RunLoadClient(trace, options);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *outcome : LoadOutcome{};
}

}  // namespace penstock::bench

#endif  // PENSTOCK_TESTS_BENCH_LOAD_RUN_H_
