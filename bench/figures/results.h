// The figures of a run of `load` or `simulate`, computed from one record per request.
//
// kvmodel/active_tokens.h defines active, late and abandoned tokens. A request is on time if it ended well and all its
// tokens were active. Rates are over the duration:
//   active, goodput           tokens of requests arriving in [0, duration), whenever delivered
//   total, late, abandoned,
//   recomputed                tokens delivered (recomputed) in [0, duration)
// `goodput` counts the tokens of requests that were on time. The two windows differ, so a run whose answers end after
// the duration has more active tokens than total ones. Two more figures compare within one window:
//   answered    all tokens of requests arriving in [0, duration), whenever delivered: active is part of it
//   delivered   {total, active, late, abandoned} in [0, duration): the first is the sum of the others
// `wasted` has the late, abandoned and recomputed tokens of the last window by cause: late, recomputed, or the reason
// of the refusal or failure.
#ifndef PENSTOCK_BENCH_FIGURES_RESULTS_H_
#define PENSTOCK_BENCH_FIGURES_RESULTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "kvmodel/active_tokens.h"

namespace penstock::bench {

struct Goals {
  Duration ttft = Duration::Seconds(2);
  Duration tpot = Duration::Milliseconds(100);
};

// Counts one request's tokens as they are delivered, those within the run's duration apart. Holds no list of them.
// All times are since the start of the run.
class TokenTally {
 public:
  TokenTally() = default;
  TokenTally(Duration arrival, const Goals& goals, Duration window)
      : counter_(Instant() + arrival, goals.ttft, goals.tpot), window_(window) {}

  // `count` tokens were delivered at `at`. Times do not go back.
  void Add(Duration at, int64_t count = 1);

  int64_t tokens() const { return counter_.tokens(); }
  int64_t timely() const { return counter_.timely(); }  // Delivered when due or before.
  int64_t in_window() const { return in_window_; }      // Delivered within the run's duration.
  int64_t late_in_window() const { return late_in_window_; }
  std::optional<Duration> first() const;
  Duration last() const { return last_; }

 private:
  ActiveTokenCounter counter_;
  Duration window_;
  Duration first_;
  Duration last_;
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
  Duration end;  // The time at which it finished, was refused or failed.
  std::string model;
  std::string tenant;
  std::string service_class = "standard";
  std::string replica;   // Empty: none, or unknown.
  std::string gpu;       // The replica's first one; empty: unknown.
  bool feasible = true;  // An idle fleet could make its first token in time.
  Tokens prompt{0};
  Goals goals;
  Fate fate = Fate::kFailed;
  bool early = false;                  // It was refused before its last chance had passed.
  std::string reason;                  // The cause of a refusal or failure; empty else.
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
  std::optional<Percentiles> ttft_s;
  std::optional<Percentiles> tpot_s;
};

struct Results {
  int64_t offered = 0;
  int64_t finished = 0;
  std::map<std::string, int64_t> refused;  // Requests by reason.
  std::map<std::string, int64_t> failed;   // Requests by reason.
  double on_time_share = 0;                // Over offered.
  double active_tokens_per_s = 0;
  double goodput_tokens_per_s = 0;
  double total_tokens_per_s = 0;
  double late_tokens_per_s = 0;
  double abandoned_tokens_per_s = 0;
  double answered_tokens_per_s = 0;
  double delivered_active_tokens_per_s = 0;
  std::map<std::string, double> wasted_tokens_per_s;  // Rates by cause; zero rates are left out.
  std::optional<double> recomputed_tokens_per_s;      // Unknown where the engines do not report it.
  std::optional<int64_t> preemptions;                 // Unknown where no counter could be read.
  std::optional<Percentiles> ttft_s;                  // From arrival, of requests with a first token.
  std::optional<Percentiles> tpot_s;          // (last - first)/(tokens - 1), of requests with two tokens or more.
  std::optional<Percentiles> queue_wait_s;    // Requests with a known wait.
  std::optional<Percentiles> refused_wait_s;  // From arrival to the refusal, of refused requests.
  std::map<std::string, GroupResults> per_class;
  std::map<std::string, GroupResults> per_tenant;
  std::map<std::string, GroupResults> per_model;
  std::map<std::string, GroupResults> per_replica;          // Requests with a known replica.
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

// One JSON object with the names above, in that order; an unknown figure is null.
std::string ResultsJson(const Results& results);
// The groups as rows under a title; at most a dozen rows.
std::string GroupsTable(const char* title, const std::map<std::string, GroupResults>& groups);
// A table for people.
std::string ResultsTable(const Results& results);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_FIGURES_RESULTS_H_
