// The answer to an embedding request that goes to its engine together with others, or the word that it goes alone.
//
// The merged call itself belongs to the loop (EmbeddingMerger). A request that goes alone keeps its place to its end:
// others gather while it is at the engine. Lives in the attempt. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_MERGED_ANSWER_H_
#define PENSTOCK_ROUTER_SESSION_MERGED_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "backends/transport/upstream.h"
#include "base/units.h"
#include "router/live/merge/embedding_merger.h"
#include "router/openai/request/header_rules.h"
#include "router/session/admission.h"
#include "router/session/delivery.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/session_state.h"

namespace penstock {

class MergedAnswer {
 public:
  MergedAnswer(SessionState& state, Admission& admission, Delivery& delivery)
      : state_(state), admission_(admission), delivery_(delivery) {}

  // False: the request goes alone, whatever others do.
  static bool MayMerge(const SessionState& state);
  // Awaited once. None: the request goes alone.
  boost::asio::awaitable<std::optional<AttemptEnd>> Run(std::shared_ptr<UpstreamPool> pool, HeaderList engine_headers);
  // The time that the request spent in a call with others.
  Duration waited() const { return waited_; }
  // Run() ends at once; the others of the call go on.
  void Leave() {
    if (place_) place_->Leave();
  }

 private:
  EmbeddingCall CallWith(const HeaderList& engine_headers) const;

  SessionState& state_;
  Admission& admission_;
  Delivery& delivery_;
  std::optional<EmbeddingMerger::Place> place_;
  Duration waited_;
  UpstreamExchange none_;  // Nothing is read: the answer is at hand.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_MERGED_ANSWER_H_
