// One answer on its way to its client: headers, keep-alive comments, resumption, and the worth of delivered tokens.
//
// Events of a stream do not pass through here, only their counts do. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_DELIVERY_H_
#define PENSTOCK_ROUTER_SESSION_DELIVERY_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "kvmodel/active_tokens.h"
#include "router/labels/labels.h"
#include "router/live/deadlines.h"
#include "router/openai/request/header_rules.h"
#include "router/session/gathered/gathering_client.h"
#include "router/session/paced_client.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/session_state.h"

namespace penstock {

// The time until a waiting stream gets its first comment, which begins its answer. A refusal for lateness comes before
// it, with its own status, unless the configuration sets the time.
Duration FirstComment(const LimitsConfig& limits, const ClassConfig& goals);

class Delivery {
 public:
  explicit Delivery(SessionState& state);

  // The request arrives in its class; a stream's client gets comments from now on while it waits.
  void Begin();
  void StopKeepAlive() { keep_alive_.Disarm(); }
  // A write of the router's own buffer goes on, and has to end before the session does.
  bool writing() const { return paced_ && paced_->writing(); }
  boost::asio::awaitable<void> Settle() { return paced_->Settle(); }
  // The router ends: events that wait for their time, and that the client does not take at once, are dropped.
  void Cut() {
    if (paced_) paced_->Cut();
  }
  // Some were dropped, so the answer ends with an error.
  bool cut_short() const { return paced_ && paced_->cut_short(); }
  // The answer's headers from the engine, and the receipt where the client asked for it.
  HeaderList Headers() const;

  // The next events of the stream are those of the relay.
  void Expect(const StreamRelay& relay) {
    if (paced_) paced_->Expect(relay.counts().in_pieces(), relay.counts().progress());
  }
  // Events that the client has not taken wait for their time, within the budget.
  bool holds() const { return paced_ && paced_->holds(); }
  // They are written, or wait for their time.
  void OnPiece(int64_t tokens, Instant now);
  // The client has all tokens of a whole answer.
  void OnWhole(int64_t tokens) { Deliver(tokens, Now()); }
  // The request ended. The usage counts tokens that came several in one event.
  void OnEnd(bool ended_well);

  // The end of an attempt whose client takes no more.
  AttemptEnd ClientEnd() const;
  // Ends a stream in the engine's stead, with `finish_reason` unless empty. False: the client takes no more.
  boost::asio::awaitable<bool> CloseStream(absl::string_view finish_reason);

  // The client waits for its answer to go on.
  bool resume_due() const { return resume_due_; }
  // From now on, if the client has part of an answer; the next attempt continues it.
  void AwaitResume();
  // Counts how the resumption ended.
  void OnResume(ResumeResult result);
  // The answer goes on: counts that, and tells a client that wants the receipt, as a comment. False: it is gone.
  boost::asio::awaitable<bool> AnnounceResume();

  const ActiveTokenCounter& active() const { return active_; }
  // Time to first token; unset before it.
  std::optional<Duration> ttft() const;
  // Mean time per output token; unset before the second.
  std::optional<Duration> tpot() const;

 private:
  // The client has so many more tokens.
  void OnReached(int64_t tokens, Instant now);
  // Counts them, for the request and for the loop.
  void Deliver(int64_t tokens, Instant when) { state_.loop.delivered().Count(tokens, active_.OnTokens(tokens, when)); }
  std::string Receipt() const;

  SessionState& state_;
  CoarseDeadline keep_alive_;
  ActiveTokenCounter active_;
  std::unique_ptr<PacedClient> paced_;         // Set for a stream whose class wants an even delivery.
  std::unique_ptr<GatheringClient> gathered_;  // Set for a client that wants its answer whole.
  std::optional<Instant> first_token_at_;
  Instant last_token_at_;
  bool resume_due_ = false;
  int resumes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_DELIVERY_H_
