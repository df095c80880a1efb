// The streams that decode on one replica: their number, the KV tokens they attend to, and when their tokens are due.
//
// Streams advance one token per step, so a step costs O(1) however many run. Due times are kept absolute in a set
// ordered by (due time - steps x TPOT); steps do not change this order. Invariant: sequences() and kv_tokens() are the
// sums over the streams that joined and did not leave. Owned by ReplicaState. Join, Correct and Leave are
// O(log streams).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_DECODING_STREAMS_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_DECODING_STREAMS_H_

#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "router/core/books/request_state.h"
#include "router/core/contract/fleet.h"

namespace penstock {

class DecodingStreams {
 public:
  // `classes` may grow with a reload.
  void Configure(const std::vector<ClassSpec>& classes);

  int64_t sequences() const { return sequences_; }
  int64_t kv_tokens() const { return kv_tokens_; }  // Attended by one step.

  // The request got its first token; its phase is kDecoding.
  void Join(RequestState* request);
  // A stream's count differs from the steps.
  void Correct(RequestState* request, int64_t tokens);
  void Leave(RequestState* request);
  void Advance(int64_t steps);

  // Tokens per sequence generated so far, kept ones excluded; 0 before the first.
  int64_t Generated(const RequestState& request) const;
  // Earliest due time of the next token over the streams of the class that are not late; Never when there is none.
  Instant NextDue(ClassId service_class, const ClassSpec& goals, Instant now) const;
  // Whether any stream of the class decodes.
  bool Decodes(ClassId service_class) const { return !due_[service_class.value()].empty(); }

  // Whether the sums over `requests`, the replica's, are right. O(requests).
  bool SumsHold(const std::vector<RequestState*>& requests) const;

 private:
  using DueSet = absl::btree_set<std::pair<int64_t, uint64_t>>;  // (key in ns, request id)

  int64_t DueKey(const RequestState& request) const;

  std::vector<ClassSpec> classes_;
  std::vector<DueSet> due_;
  std::vector<RequestState*> fresh_;  // They joined in a step that Advance has not counted yet.
  int64_t sequences_ = 0;
  int64_t kv_tokens_ = 0;
  int64_t steps_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_DECODING_STREAMS_H_
