// The first stage of a request on a pair: its prompt goes to the prefill engine, and the answer says where the cache
// is.
//
// The engine makes one token, which nobody gets. Its answer has the words for the decode engine. An engine that fails
// ends the attempt, as a failing engine does everywhere. An answer that names no cache, or names one falsely, does not:
// the decode engine then computes the prompt. So it does where the prefill engine finds the request bad, and it has the
// last word about that. It also computes the prompt of a request whose cache failed a decode engine before. So an offer
// of a cache that is not there fails a request once at most. Invariant: while the prefill engine has the request, and
// after a failed stage, SessionState::in_prefill is true. Each stage has one end in the metrics. Lives in the attempt.
// Belongs to one loop; costs one coroutine.
#ifndef PENSTOCK_ROUTER_SESSION_PREFILL_PREFILL_STAGE_H_
#define PENSTOCK_ROUTER_SESSION_PREFILL_PREFILL_STAGE_H_

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/transport/upstream.h"
#include "router/labels/labels.h"
#include "router/live/ticket.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/session_state.h"

namespace penstock {

class PrefillStage {
 public:
  PrefillStage(SessionState& state, Ticket& ticket) : state_(state), ticket_(ticket) {}

  // Awaited once, where the Forward has a prefill. None: the decode engine goes on, with SessionState::handover or
  // without.
  boost::asio::awaitable<std::optional<AttemptEnd>> Run();
  // The times that the prefill engine got the whole request, and a part of it only.
  int writes() const { return exchange_ ? exchange_->writes() : 0; }
  int partial_writes() const { return exchange_ ? exchange_->partial_writes() : 0; }
  void Abort() {
    if (exchange_) exchange_->Abort();
  }

 private:
  using MaybeEnd = std::optional<AttemptEnd>;

  // Sets the end of the stage, unless the engine failed.
  boost::asio::awaitable<MaybeEnd> Compute();
  // The engine has the request, and `head` is that of its answer.
  boost::asio::awaitable<MaybeEnd> Ask(UpstreamPool& pool, UpstreamHead* head);
  boost::asio::awaitable<MaybeEnd> ReadError(int status);
  boost::asio::awaitable<MaybeEnd> ReadOffer();
  // An error of the engine's own. None: it refused the request.
  MaybeEnd Judge(const EngineError& error);
  // The decode engine computes the prompt.
  MaybeEnd Decline(HandoverEnd end, absl::string_view why);
  void Tell() const;

  SessionState& state_;
  Ticket& ticket_;
  std::optional<UpstreamExchange> exchange_;
  HandoverEnd end_ = HandoverEnd::kFailed;
  std::string why_;     // For the log, where no cache comes.
  std::string params_;  // kHandedOver.
  Tokens cached_{-1};   // Of the prompt, as the engine said.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_PREFILL_PREFILL_STAGE_H_
