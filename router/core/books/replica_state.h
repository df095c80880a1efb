// One replica as the core believes it to be: who runs there, how far they are, what is on its way, when tokens are due.
//
// The engine is never asked: every grant since the last report is known here at once. Prefill is a virtual backlog:
// a dispatch adds its prompt, each observed step computes up to the budget of it in order, a first token proves that
// everything ahead is done. Streams advance one token per step, so a step costs O(1) however many run; due times are
// kept absolute in a set ordered by (due time - steps x TPOT), whose order steps do not change.
// Owned by PenstockCore.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_REPLICA_STATE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_REPLICA_STATE_H_

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "kvmodel/step_model.h"
#include "router/core/books/prefix_index.h"
#include "router/core/books/request_state.h"
#include "router/core/contract/fleet.h"

namespace penstock {

class ReplicaState {
 public:
  // `classes` may grow with a reload.
  void Configure(const ReplicaSpec& spec, const std::vector<ClassSpec>& classes);

  const ReplicaSpec& spec() const { return spec_; }
  const StepModel& steps_model() const { return model_; }
  const std::vector<RequestState*>& requests() const { return requests_; }
  const std::deque<RequestState*>& prefilling() const { return prefilling_; }
  bool busy() const { return !requests_.empty(); }
  int64_t sequences() const { return sequences_; }  // Forwarded, n counted.
  double decoding() const { return decoding_; }     // Sequences past their first token.
  double kv_tokens() const { return kv_tokens_; }   // Attended by them.
  double backlog() const { return backlog_; }       // Prefill tokens on their way.
  int64_t step_count() const { return step_count_; }
  int64_t unobserved() const { return unobserved_; }  // Requests whose progress is forecast only.
  // When the newest step known ended; nullopt while idle or before the first.
  std::optional<Instant> last_step_end() const { return last_step_end_; }

  // Tokens of the prompt that the engine will have to compute: what it is expected to have cached is left out.
  Tokens PrefillOf(const RequestState& request) const;

  // Requests join, get their first token, are corrected, and leave.
  void Join(RequestState* request, Instant now);
  void BecomeDecoding(RequestState* request);
  void Correct(RequestState* request, int64_t tokens);
  void Leave(RequestState* request);

  // `steps` ended, the newest at `newest`; computes backlog, advances streams, teaches the step model.
  void Advance(int64_t steps, Instant newest, int busy_neighbours);

  // Tokens per sequence generated so far, kept ones excluded.
  int64_t Generated(const RequestState& request) const;
  // Seconds until the step in flight ends; at least `at_least`.
  double Remainder(Instant now, double at_least, int busy_neighbours) const;
  double DecodeStep(int busy_neighbours) const { return model_.DecodeStep(decoding_, kv_tokens_, busy_neighbours); }
  // Forecast tokens per second of one stream: a decode step and what observed steps took beyond it of late.
  double TokensPerSecond(int busy_neighbours) const;

  // Earliest due time of the next token over the decoding streams of this class that are not late; Never when none.
  Instant NextDue(ClassId service_class, const ClassSpec& spec, Instant now) const;
  // Whether any stream of the class decodes here.
  bool Decodes(ClassId service_class) const { return !due_[service_class.value()].empty(); }

  Health health = Health::kDown;
  Instant down_since;
  int64_t preemptions = -1;      // Last reported counter.
  int64_t preemptions_seen = 0;  // Sum of its increases.
  size_t refresh_cursor = 0;     // Next request whose forecast is brought up to date.
  double used_share = -1;        // Last report.
  bool learns_steps = true;
  PrefixIndex prefixes;

 private:
  using DueSet = absl::btree_set<std::pair<int64_t, uint64_t>>;  // (key in ns, request id)

  void ConsumeBacklog(int64_t steps, Instant newest);
  int64_t DueKey(const RequestState& request) const;

  ReplicaSpec spec_;
  std::vector<ClassSpec> classes_;
  StepModel model_;
  std::vector<RequestState*> requests_;
  std::deque<RequestState*> prefilling_;
  std::vector<RequestState*> fresh_;  // Got their first token in a step that Advance has not counted yet.
  std::vector<DueSet> due_;
  int64_t sequences_ = 0;
  int64_t unobserved_ = 0;
  double decoding_ = 0;
  double kv_tokens_ = 0;
  double backlog_ = 0;
  int64_t step_count_ = 0;
  std::optional<Instant> last_step_end_;  // Empty: idle since.
  double proven_ = 0;                     // Prefill that first tokens have proven done since the newest step known.
  double consumed_ = 0;                   // Prefill computed by the steps of the current Advance.
  double excess_ = 0;                     // Of observed steps over decode steps, of late, in seconds: prefill, mostly.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_REPLICA_STATE_H_
