// Request traces: when requests arrive, for which model and tenant, and how long prompt and output are.
//
// Format: CSV with the header `arrival_s,model,tenant,prompt_tokens,output_tokens`. These columns may follow, in any
// order:
//   prefix_hashes  semicolon-separated ids of the prompt's blocks of kPrefixBlock tokens; equal ids at equal positions
//                  mean equal tokens up to the end of that block
//   max_output     the limit of output tokens that the request states; empty or 0: none
//   gone_after_s   seconds after the arrival at which the client goes away, unless it has its answer; empty: it stays;
//                  `load` does not read it
//   class          name of the request's service class; empty: the one of its tenant, or the default
//   session        name of the conversation, as a client gives it in a hint; empty: none
//   shape          name of the program (system prompt, tools, format) that requests have in common; empty: not known
// Rows are sorted by arrival. A gzip file is read as its content.
#ifndef PENSTOCK_BENCH_TRACES_TRACE_H_
#define PENSTOCK_BENCH_TRACES_TRACE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "router/core/contract/event.h"

namespace penstock::bench {

struct TraceRequest {
  Duration arrival;   // Since the start of the trace, at least zero.
  std::string model;  // Empty where the source does not say.
  std::string tenant;
  Tokens prompt{1};  // Whole prompt, at least 1.
  Tokens output{1};  // At least 1; its length without a limit.
  std::vector<uint64_t> prefix_hashes;
  int64_t line = 0;                    // In the file, from 1; 0: generated.
  std::string service_class;           // Empty where the source does not say.
  Tokens max_output{0};                // 0: none stated.
  std::optional<Duration> gone_after;  // Time after the arrival at which the client goes away.
  std::string session;                 // Empty: the client names none.
  std::string shape;                   // Empty: not known.
  bool operator==(const TraceRequest&) const = default;
};

struct Trace {
  std::string source;  // File, or the name of a generated workload.
  std::vector<TraceRequest> requests;
  Duration length;  // Rates are per this time. At least one second unless a duration was asked for.
};

inline constexpr int64_t kMostTraceLines = 50'000'000;

// Reads a whole file into memory. NotFound: it cannot be opened. InvalidArgument "file:line: ..." names the first bad
// row. DataLoss names the line that cannot be read: the gzip stream is damaged, or the line has more than 16 MiB.
absl::StatusOr<Trace> ReadTrace(const std::string& path, int64_t most_lines = kMostTraceLines);

struct TraceWindow {
  double rate = 1;                   // Above zero. Arrivals are divided by it, before the cut.
  std::optional<Duration> duration;  // Requests that arrive at or after it are dropped; left out: the last arrival.
  Duration from;                     // In the trace's own time: earlier requests are dropped, the others move to zero.
};

// Drops the requests before the window, compresses the arrivals, then cuts.
void ApplyWindow(const TraceWindow& window, Trace& trace);

// A trace file, or a generated workload when `name` starts with `generate:` (see workload.h), with the window applied.
// A generated workload is made long enough to fill the window; without a duration it covers ten minutes.
absl::StatusOr<Trace> OpenTrace(const std::string& name, const TraceWindow& window, uint64_t seed);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_TRACES_TRACE_H_
