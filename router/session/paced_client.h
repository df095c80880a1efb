// A client whose stream comes at an even pace, whatever the pace of its engine.
//
// The first tokens pass at once. Tokens that come before their time (rules/pace.h) wait here, in the budget of answers.
// They go out at once where the budget has no room, where the router drains, and where the answer's time limit is over.
// An error and the end of the answer come behind them. Only streams: a whole answer passes. Invariant: events leave in
// the order in which they came. Owned by the request's Delivery. Belongs to one loop. No allocation per token.
#ifndef PENSTOCK_ROUTER_SESSION_PACED_CLIENT_H_
#define PENSTOCK_ROUTER_SESSION_PACED_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "router/live/deadlines.h"
#include "router/live/signal.h"
#include "router/session/answer_memory.h"
#include "router/session/client/client.h"
#include "router/session/rules/pace.h"
#include "router/session/session_state.h"

namespace penstock {

class PacedClient final : public Client {
 public:
  PacedClient(SessionState& state, Client& client, const Pace& pace);

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers,
                absl::string_view body) override {
    return client_.Whole(status, content_type, headers, body);
  }
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override {
    client_.BeginWhole(content_type, headers, length);
  }
  Written Part(absl::string_view bytes) override { return client_.Part(bytes); }
  boost::asio::awaitable<bool> FinishWhole() override { return client_.FinishWhole(); }

  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  boost::asio::awaitable<bool> FinishEvents() override { return client_.FinishEvents(); }
  boost::asio::awaitable<bool> End() override;
  boost::asio::awaitable<bool> Error(const ApiError& error) override;
  void KeepAlive(const HeaderList& headers) override;

  bool begun() const override { return client_.begun(); }
  int status() const override { return client_.status(); }
  bool gone() const override { return client_.gone(); }
  void Watch(std::function<void()> on_gone) override;
  void Unwatch() override { client_.Unwatch(); }

  // A write goes on, so the object must live.
  bool writing() const { return writing_; }
  // Waits for the end of that write.
  boost::asio::awaitable<void> Settle();

 private:
  struct Batch {
    Instant release;
    size_t end;  // In held_.
  };

  bool idle() const { return batches_.empty() && !writing_; }
  void Hold(Instant release, const std::vector<absl::string_view>& pieces);
  // Writes what is due, and arms the deadline for the next batch.
  void Release();
  bool Hurries(Instant now) const;
  // Drops the bytes that are written.
  void Compact();
  boost::asio::awaitable<void> FinishWrite();
  // False: the client is gone.
  boost::asio::awaitable<bool> AwaitIdle();

  SessionState& state_;
  Client& client_;
  const Pace pace_;
  Signal changed_;
  CoarseDeadline next_;
  AnswerMemory memory_;
  Instant first_;     // The time of the first token.
  std::string held_;  // Bytes from written_ on wait.
  size_t written_ = 0;
  std::deque<Batch> batches_;
  std::vector<absl::string_view> piece_;  // Scratch of Release.
  bool hurry_ = false;                    // From now on nothing waits.
  bool writing_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_PACED_CLIENT_H_
