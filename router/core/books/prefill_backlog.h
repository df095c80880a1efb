// The prefill on its way to one replica: a virtual backlog, because engines do not report it.
//
// A dispatch adds the prompt. Each observed step computes prompts in order, up to its budget. A first token proves that
// everything ahead of it is done. Invariant: tokens() is the sum of `prefill_left` of the requests in it.
// Owned by ReplicaState. Add is O(1), the others O(prefilling requests).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_PREFILL_BACKLOG_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_PREFILL_BACKLOG_H_

#include <deque>

#include "router/core/books/request_state.h"

namespace penstock {

class PrefillBacklog {
 public:
  // In order of dispatch.
  const std::deque<RequestState*>& requests() const { return requests_; }
  Tokens tokens() const { return tokens_; }

  // `prefill_left` and `dispatched` of the request are set.
  void Add(RequestState* request);
  // The request got its first token: its prompt and those ahead of it are computed.
  void Prove(RequestState* request);
  // The request leaves before its first token.
  void Remove(RequestState* request);
  // The replica was idle: no step is known that a first token could prove.
  void ForgetProven() { proven_ = Tokens(0); }

  // `steps` steps with room for `per_step` prefill tokens each ended between `start` and `newest`. Returns the tokens
  // that they computed, proven ones included.
  Tokens Compute(int64_t steps, Instant start, Instant newest, Tokens per_step);

  // True: the sum is right. O(prefilling requests).
  bool SumHolds() const;

 private:
  std::deque<RequestState*> requests_;
  Tokens tokens_{0};
  Tokens proven_{0};  // Proven computed by first tokens since the newest step known.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_PREFILL_BACKLOG_H_
