// What a run of `load` or `simulate` achieved, computed from one record per request.
//
// Token i (the first is 0) is due at arrival + TTFT goal + i x TPOT goal. It is active if it reaches the client by then
// and its request ends with stop, length or tool_calls; tokens of other requests are abandoned. A request is on time if
// it ended well and every token of it was active. Which tokens count where:
//   active, goodput           of requests arriving in [0, duration), whenever delivered
//   total, late, abandoned,
//   recomputed                delivered (recomputed) in [0, duration)
// all over the duration. `goodput` counts the tokens of requests that were on time.
#ifndef PENSTOCK_BENCH_FIGURES_RESULTS_H_
#define PENSTOCK_BENCH_FIGURES_RESULTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace penstock::bench {

struct Goals {
  Duration ttft = Duration::Seconds(2);
  Duration tpot = Duration::Milliseconds(100);
};

// Counts one request's tokens as they are delivered; keeps no list of them, so a run of millions of tokens is cheap.
// All times are since the start of the run.
class TokenTally {
 public:
  TokenTally() = default;
  TokenTally(Duration arrival, const Goals& goals, Duration window)
      : next_due_(arrival + goals.ttft), tpot_(goals.tpot), window_(window) {}

  // `count` tokens delivered at `at`; times never go back.
  void Add(Duration at, int64_t count = 1);

  int64_t tokens() const { return tokens_; }
  int64_t timely() const { return timely_; }        // Delivered when due or before.
  int64_t in_window() const { return in_window_; }  // Delivered within the run's duration.
  int64_t late_in_window() const { return late_in_window_; }
  std::optional<Duration> first() const;
  Duration last() const { return last_; }

 private:
  Duration next_due_;
  Duration tpot_;
  Duration window_;
  Duration first_;
  Duration last_;
  int64_t tokens_ = 0;
  int64_t timely_ = 0;
  int64_t in_window_ = 0;
  int64_t late_in_window_ = 0;
};

enum class Fate : uint8_t {
  kFinished,  // stop, length or tool_calls.
  kRefused,   // A refusal with a reason.
  kFailed,    // An error, a broken stream, or not ended when the run was over.
};

struct RequestRecord {
  Duration arrival;
  Duration end;  // When it finished, was refused or failed.
  std::string model;
  std::string tenant;
  std::string service_class = "standard";  // Class.
  std::string replica;                     // Empty: none, or unknown.
  std::string gpu;                         // Of the replica; empty: unknown.
  bool feasible = true;                    // An idle fleet could make its first token in time.
  Tokens prompt{0};
  Goals goals;
  Fate fate = Fate::kFailed;
  std::string reason;                  // Of a refusal or failure.
  std::optional<Duration> queue_wait;  // Between arrival and dispatch to an engine.
  TokenTally tokens;

  int64_t ActiveTokens() const { return fate == Fate::kFinished ? tokens.timely() : 0; }
  // An answer without tokens (embeddings) is on time when it ends within the TTFT goal.
  bool OnTime() const;
};

struct Percentiles {
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
};

struct GroupResults {
  int64_t offered = 0;
  int64_t finished = 0;
  int64_t refused = 0;
  double on_time_share = 0;
  double active_tokens_per_s = 0;
  double goodput_tokens_per_s = 0;
};

struct Results {
  int64_t offered = 0;
  int64_t finished = 0;
  std::map<std::string, int64_t> refused;  // By reason.
  std::map<std::string, int64_t> failed;   // By reason.
  double on_time_share = 0;                // Over offered.
  double active_tokens_per_s = 0;
  double goodput_tokens_per_s = 0;
  double total_tokens_per_s = 0;
  double late_tokens_per_s = 0;
  double abandoned_tokens_per_s = 0;
  std::optional<double> recomputed_tokens_per_s;  // Unknown where the engines do not tell.
  std::optional<int64_t> preemptions;             // Unknown where no counter could be read.
  std::optional<Percentiles> ttft_s;              // Of requests with a first token.
  std::optional<Percentiles> tpot_s;              // (last - first)/(tokens - 1), of requests with two tokens or more.
  std::optional<Percentiles> queue_wait_s;        // Where known.
  std::map<std::string, GroupResults> per_class;
  std::map<std::string, GroupResults> per_tenant;
  std::map<std::string, GroupResults> per_model;
  std::map<std::string, GroupResults> per_replica;          // Of requests whose replica is known.
  std::map<std::string, GroupResults> per_prompt_quartile;  // q1 (shortest) to q4, equal counts of offered requests.
  std::map<std::string, double> forecast;                   // Forecast errors, from the simulator.

  int64_t RefusedCount() const;
  int64_t FailedCount() const;
};

// `duration` is above zero. Cost O(n log n) in the requests.
Results Summarise(const std::vector<RequestRecord>& records, Duration duration);

// The same figures of some of the records.
GroupResults GroupOf(const std::vector<RequestRecord>& records, Duration duration);

// Nearest-rank percentiles; nullopt without samples.
std::optional<Percentiles> PercentilesOf(std::vector<double> samples);

// One JSON object with the names above, in that order; what is unknown is null.
std::string ResultsJson(const Results& results);
// The object that a `per_*` field holds.
std::string GroupsText(const std::map<std::string, GroupResults>& groups);
// Their rows under a title; at most a dozen.
std::string GroupsTable(const char* title, const std::map<std::string, GroupResults>& groups);
// A table for people.
std::string ResultsTable(const Results& results);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_FIGURES_RESULTS_H_
