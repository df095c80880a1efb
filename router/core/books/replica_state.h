// One replica as the core believes it to be: the requests that run there, how far they are, and the pace of its steps.
//
// The engine is never asked: every grant since the last report is known here at once. Invariant: the sums over the
// requests are right (SumsHold). Owned by FleetState. Join is O(prompt blocks), the changes of one request
// O(log requests), a step O(prefilling requests).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_REPLICA_STATE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_REPLICA_STATE_H_

#include <optional>
#include <vector>

#include "kvmodel/decode_pace.h"
#include "kvmodel/step_model.h"
#include "router/core/books/decoding_streams.h"
#include "router/core/books/prefill_backlog.h"
#include "router/core/books/presence.h"
#include "router/core/books/request_state.h"
#include "router/core/contract/admission_checks.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"
#include "router/core/learning/grey_state.h"
#include "router/core/learning/host_time.h"
#include "router/core/learning/pace_watch.h"
#include "router/core/learning/tokens_per_step.h"
#include "router/core/prompts/prompt_cache.h"

namespace penstock {

// The sequences that an engine ran while others waited in it. Forgotten in the end: another engine may answer there.
struct SeenRows {
  static constexpr Duration kKept = Duration::Seconds(600);

  int most = 0;
  Instant until;

  // Where the cache is nearly full, or nobody knows, requests may wait for memory.
  void Take(int running, int waiting, double used_share, Instant at) {
    if (running <= 0) return;
    const bool full = waiting > 0 && used_share >= 0 && used_share < 0.9;
    if (at >= until) most = 0;
    if (full) until = at + kKept;
    if (full || most > 0) most = std::max(most, running);
  }
};

// The newest report about its node, and what it means beside those of its peers (router/core/nodes).
struct NodeFacts {
  double reported = 1;
  double derate = 1;  // Over the least of its peers.
  double storage_pressure = 0;
  bool closed = false;
  double cpu_pressure = 0;
  bool operator==(const NodeFacts&) const = default;

  // Times that work on the node's storage takes as long: at most 20, at full pressure.
  double StorageFactor() const { return 1 / std::max(0.05, 1 - storage_pressure); }
};

// Facts that the engine reported, or that its tokens showed.
struct EngineFacts {
  int64_t preemptions = -1;      // The counter at the last report; negative: none came.
  int64_t preemptions_seen = 0;  // Sum of its increases.
  double used_share = -1;        // Of the KV cache at the last report, 0 to 1; negative: none came.
  int64_t others = 0;            // Sequences at the last report that this router did not send; 0 where unknown.
  SeenRows rows;
  std::optional<ElasticReport> elastic;  // The newest.
  TokensPerStep speculation;
  PaceWatch pace;
  GreyState grey;
  NodeFacts node;

  // Takes the counter of a report; returns its increase. A counter that fell belongs to a restarted engine.
  int64_t TakePreemptions(int64_t counter);
};

// The requests that were sent to a replica since its probation began. Those that run from before prove nothing.
struct Probation {
  uint64_t number = 0;  // Probations so far.
  int64_t requests = 0;

  void Begin() {
    ++number;
    requests = 0;
  }
};

// The steps of a replica, as its streams showed them.
struct ObservedSteps {
  std::optional<Instant> last_end;  // When the newest step known ended; nullopt while idle or before the first.
  StepPace pace;                    // Without the derate.
  StepModel healthy;                // The step model before the steps were out of line.
};

// The sequences of a replica, those of them that give way, the requests that nobody sees, and those taken back.
struct ReplicaLoad {
  int64_t sequences = 0;
  int64_t yielding = 0;    // Those of evictable classes.
  int64_t unobserved = 0;  // Requests whose progress is forecast only.
  int64_t recalled = 0;    // Requests taken back that the edge has not answered for.
};

class ReplicaState {
 public:
  // `classes` may grow with a reload.
  void Configure(const ReplicaSpec& spec, const std::vector<ClassSpec>& classes);

  const ReplicaSpec& spec() const { return spec_; }
  const StepModel& steps_model() const { return model_; }
  const std::vector<RequestState*>& requests() const { return requests_; }
  const PrefillBacklog& prefills() const { return prefills_; }
  const DecodingStreams& streams() const { return streams_; }
  bool busy() const { return !requests_.empty(); }
  // True: it is awake, and its health lets it take a request. A replica on probation gets one at a time.
  bool Placeable() const { return presence.Takes() && IsPlaceable(health, probation.requests > 0); }
  int64_t sequences() const { return load.sequences; }  // Forwarded, n counted.
  // The derates of `facts` changed: every step takes so many times as long from now on, by the larger one. What slow
  // steps taught before the first derate is forgotten.
  void Derate();

  // The part of the request's prompt that the engine is expected to have cached.
  CacheHope HopeFor(const RequestState& request) const;
  // Leading tokens of the request's prompt that other running requests hold; nothing where each holds a copy.
  Tokens SharedOf(const RequestState& request) const;

  // Requests join, get their first token, are corrected, and leave. `others`: the requests whose part of the shared
  // prompt blocks changes are appended.
  void Join(RequestState* request, Instant now, std::vector<RequestId>& others);
  void BecomeDecoding(RequestState* request);
  // The request, which is prefilling, gets no cache from elsewhere: all of its prompt is to be computed here.
  void ComputePrompt(RequestState* request);
  void Correct(RequestState* request, int64_t tokens);
  void Leave(RequestState* request, std::vector<RequestId>& others);

  // The request, which is still prefilling, gets its first token now. `delay` seconds went by before the engine had it.
  // One that was alone all the time teaches the host time.
  void LearnHostTime(const RequestState& request, double delay, Instant now, int busy_neighbours);
  // `count` steps ended, the newest at `newest`: computes backlog, advances streams, teaches the step model.
  void Advance(int64_t count, Instant newest, int busy_neighbours);
  // The next `most` requests in turn whose forecasts are renewed: their first position. They follow one another,
  // wrapping around.
  size_t TakeTurn(size_t most);

  // Seconds until the step in flight ends; at least `at_least`.
  double Remainder(Instant now, double at_least, int busy_neighbours) const;
  // Seconds of a step without prefill.
  double DecodeStep(int busy_neighbours) const;
  // Forecast pace of one stream.
  DecodePace Pace(int busy_neighbours) const;

  // At least both rates of Pace beside up to so many busy neighbours, until a step ends or a request joins or leaves.
  double MostTokensPerSecond(int neighbours) const;

  // True: the sums over its requests are right. O(requests).
  bool SumsHold() const;

  Health health = Health::kDown;
  Presence presence;
  Probation probation;
  EngineFacts facts;
  PromptCache prompts;
  HostTime host_time;
  ObservedSteps steps;  // Changed by this class, as is the load.
  ReplicaLoad load;

 private:
  ReplicaSpec spec_;
  StepModel model_;
  std::vector<RequestState*> requests_;
  PrefillBacklog prefills_;
  DecodingStreams streams_;
  size_t turn_ = 0;  // Position after the last request whose forecast was renewed.
};

// A report older than this says nothing about the present.
constexpr Duration kStaleElasticReport = Duration::Seconds(2);

inline bool HasFreshElasticReport(const ReplicaState& replica, Instant now) {
  return replica.facts.elastic && now - replica.facts.elastic->sampled_at <= kStaleElasticReport;
}

// The replica holds no elastic memory: its engine is gone, or sleeps and is not to wake. A fresh report counts instead,
// for an engine may sleep and keep its pages.
inline bool LendsElasticMemory(const ReplicaState& replica, Instant now) {
  const Presence& presence = replica.presence;
  const bool sleeps = presence.residency == Residency::kAsleep && !presence.wanted;
  const bool gone = presence.awake() && replica.health == Health::kDown;
  return (sleeps || gone) && !HasFreshElasticReport(replica, now);
}

// True: its engine has a request of this router, or may have one.
inline bool EngineWorks(const ReplicaState& replica) { return replica.busy() || replica.load.recalled > 0; }

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_REPLICA_STATE_H_
