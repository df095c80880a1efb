// Open-loop load against OpenAI endpoints: requests leave by the clock of the trace, independent of earlier ones.
//
// Every request is a streamed chat completion with a synthetic prompt of the trace's token length. The header
// `x-simulated-output-tokens` gives its output length, the bearer key its tenant, `x-penstock-class` its class if any.
// A limit of the trace is its `max_tokens`.
// One thread runs all streams. A token costs one read and a scan of its bytes, so thousands of streams fit beside an
// engine and a router on two cores. Connections are reused. A client closes its connection at the `gone_after_s` of
// the trace.
#ifndef PENSTOCK_BENCH_LOAD_LOAD_CLIENT_H_
#define PENSTOCK_BENCH_LOAD_LOAD_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/figures/results.h"
#include "bench/load/load_target.h"
#include "bench/traces/trace.h"

namespace penstock::bench {

struct LoadProgress {
  Duration elapsed;
  int64_t sent = 0;
  int64_t running = 0;
  int64_t finished = 0;
  int64_t refused = 0;
  int64_t failed = 0;
  int64_t tokens = 0;
};

struct LoadClientOptions {
  std::vector<LoadTarget> targets;  // At least one; requests go round robin.
  // True: the targets are engines, and per_replica names them. False: the client asks for the router's decision
  // receipt, which names the replica and the queue wait; other servers ignore that header.
  bool name_replicas = false;
  std::string model;                          // For every request.
  std::map<std::string, std::string> models;  // Else by the trace's name; a name not listed is sent as it is.
  // Class of requests whose trace names none; empty: none is sent, the results say "standard".
  std::string service_class;
  Goals goals;
  Duration drain = Duration::Seconds(30);  // Streams still open this long after the trace's end count as failed.
  uint64_t seed = 1;
  std::function<void(const LoadProgress&)> progress;  // Called five times a second on the client's thread.
  std::function<void(const RequestRecord&)> settled;  // Called on the client's thread for each request that ended.
  // Set by any thread: the run ends within a fifth of a second, and open requests count as unfinished.
  const std::atomic<bool>* stop = nullptr;
};

// A thread of the client that is later than this spoils the figures.
inline constexpr Duration kSeriousStall = Duration::Milliseconds(250);

// The reason of records whose stream was still open when the run ended.
inline constexpr char kUnfinished[] = "unfinished";
// The reason of records whose client went away, as the trace says (`gone_after_s`).
inline constexpr char kClientGone[] = "client_gone";

struct LoadOutcome {
  std::vector<RequestRecord> records;  // One per request of the trace, in its order.
  std::optional<int64_t> preemptions;  // During the run, summed over the targets; nullopt: one does not report any.
  size_t sent = 0;                     // Requests that left: the first ones of the records.
  Duration elapsed;                    // The time of the run.
  Duration longest_stall;              // The client's own thread was late by so much: this machine was busy.
};

// Runs the whole trace on the calling thread. Unavailable: a model name is needed and no target lists one. Requests
// that fail are records, not errors.
absl::StatusOr<LoadOutcome> RunLoadClient(const Trace& trace, const LoadClientOptions& options);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_LOAD_LOAD_CLIENT_H_
