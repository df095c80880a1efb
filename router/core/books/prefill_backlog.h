// The prefill on its way to one replica: a virtual backlog, because engines do not report it.
//
// A dispatch adds the prompt. Each observed step computes prompts in order, up to its budget. A first token proves that
// everything ahead of it is done. Invariant: work() is the sum of PrefillLeft() of the requests in it. Owned by
// ReplicaState. Add is O(1), the others O(prefilling requests).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_PREFILL_BACKLOG_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_PREFILL_BACKLOG_H_

#include <deque>

#include "kvmodel/prefill_work.h"
#include "router/core/books/request_state.h"

namespace penstock {

class PrefillBacklog {
 public:
  // In order of dispatch.
  const std::deque<RequestState*>& requests() const { return requests_; }
  const PrefillWork& work() const { return work_; }
  // The part of it that a step with room for so many tokens computes.
  PrefillWork Next(Tokens room) const;

  // `prefill_left`, `load_left` and `dispatched` of the request are set.
  void Add(RequestState* request);
  // The request got its first token: its prompt and those ahead of it are computed.
  void Prove(RequestState* request);
  // The request leaves before its first token.
  void Remove(RequestState* request);
  // The replica was idle: no step is known that a first token could prove.
  void ForgetProven() { proven_ = PrefillWork(); }

  // `steps` steps with room for `per_step` prefill tokens each ended between `start` and `newest`. Returns the
  // prefill that they computed, the proven included.
  PrefillWork Compute(int64_t steps, Instant start, Instant newest, Tokens per_step);
  // The steps of the last Compute may have computed more. A prompt in them was taken to be cached in part, or a first
  // token is missing though its prompt would be computed.
  bool doubtful() const { return doubtful_; }

  // True: the sums are right. O(prefilling requests).
  bool SumHolds() const;

 private:
  void Erase(RequestState* request);
  bool AnyOverdue(Instant start) const;

  std::deque<RequestState*> requests_;
  PrefillWork work_;
  PrefillWork proven_;         // Proven computed by first tokens since the newest step known.
  int64_t guesses_ = 0;        // Requests whose prompt may be cached in part or not.
  bool proven_guess_ = false;  // One of them got its first token since the newest step known.
  bool doubtful_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_PREFILL_BACKLOG_H_
