// A client whose stream comes at an even pace, whatever the pace of its engine.
//
// The first tokens pass at once. Tokens that come before their time (rules/pace.h) wait here, event by event, in the
// budget of answers. Nothing waits any more once a quarter of the budget is taken, or this stream holds its part of it.
// Nothing waits either while the router drains, or once the answer's time limit is over. A reader that is too slow then
// slows the engine down, as without this class. An error and the end of the answer come behind the tokens. Only
// streams: a whole answer passes. Invariant: events leave in the order in which they came. Owned by the request's
// Delivery. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_PACED_CLIENT_H_
#define PENSTOCK_ROUTER_SESSION_PACED_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "backends/dialect/sse_splitter.h"
#include "router/live/deadlines.h"
#include "router/live/signal.h"
#include "router/session/client/forwarding_client.h"
#include "router/session/rules/held_events.h"
#include "router/session/rules/pace.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/session_state.h"

namespace penstock {

class PacedClient final : public ForwardingClient {
 public:
  // Tokens that waited are with the client.
  using OnReached = std::function<void(int64_t tokens, Instant now)>;

  PacedClient(SessionState& state, Client& client, const Pace& pace, OnReached on_reached);

  // The next call of Events() has so many tokens, as far as is sure, and `progress` as its engine's events usually
  // have.
  void Expect(int64_t tokens, int64_t progress) { expected_ = {tokens, progress}; }
  // The events of the last call passed at once.
  bool passed() const { return passed_; }
  // All bytes that wait are within the budget.
  bool holds() const { return !passed_ && memory_.Covers(held_.bytes()); }

  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  boost::asio::awaitable<bool> FinishEvents() override;
  // Where Cut() dropped events, the stream stays open for an error.
  boost::asio::awaitable<bool> End() override;
  boost::asio::awaitable<bool> Error(const ApiError& error) override;
  void KeepAlive(const HeaderList& headers) override;
  void Watch(std::function<void()> on_gone) override;

  // The router ends: the events that the client does not take at once are dropped.
  void Cut();
  // Cut() dropped events.
  bool cut_short() const { return cut_ == CutState::kShort; }

  // A write goes on, so the object must live.
  bool writing() const { return in_write_.has_value(); }
  // Waits for the end of that write.
  boost::asio::awaitable<void> Settle();

 private:
  enum class CutState : uint8_t { kNone, kAsked, kShort };
  struct Expected {
    int64_t tokens = 0;
    int64_t progress = 0;
  };
  // The place in the stream by progress. A corrected count of a continued answer does not move it.
  struct Position {
    Instant first;      // The time of the first token.
    int64_t token = 0;  // The next one.
  };
  struct InWrite {
    size_t bytes = 0;
    int64_t tokens = 0;
    std::vector<char> text = {};  // The client has views of it, while held_ may grow.
  };

  bool idle() const { return held_.empty() && !writing(); }
  bool Hurries(Instant now) const;
  // The time of an event of the coming pieces: `ahead` of their tokens come before it. With no token among them, it
  // comes with the token before them.
  Instant ReleaseOf(int64_t progress, int64_t ahead) const;
  void Hold(const std::vector<absl::string_view>& pieces, Expected expected);
  // Writes what is due, a part of it at a time, and arms the deadline for the next event.
  void Release(const HeaderList& headers);
  void OnWritten(const InWrite& write);
  boost::asio::awaitable<void> FinishWrite(bool part);
  // The client gets nothing more of what waits.
  void Drop();
  // False: the client is gone.
  boost::asio::awaitable<bool> AwaitIdle();

  SessionState& state_;
  const Pace pace_;
  const OnReached on_reached_;
  Signal changed_;
  CoarseDeadline next_;
  AnswerMemory memory_;
  SseSplitter splitter_;
  HeldEvents held_;
  std::vector<absl::string_view> piece_;  // Scratch of Hold and Release.
  Position position_;
  Expected expected_;
  std::optional<InWrite> in_write_;  // The first bytes of held_.
  bool hurry_ = false;               // From now on nothing waits.
  bool passed_ = true;
  CutState cut_ = CutState::kNone;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_PACED_CLIENT_H_
