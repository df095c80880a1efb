// The body of one request of HTTP/2: stored whole, taken in pieces by its handler, or dropped.
//
// A stored body opens the windows of its client as it comes. One in pieces opens that of its stream when the handler
// takes a piece, so a slow disk slows its own client. All bytes are in the budget. Belongs to a stream and its loop.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_BODY_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_BODY_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "base/fair_budget.h"
#include "router/http/http2/stream_host.h"
#include "router/http/request/request_reader.h"
#include "router/live/deadlines.h"
#include "router/live/signal.h"
#include "router/session/client/body_source.h"

namespace penstock::http2 {

class StreamBody final : public BodySource {
 public:
  struct Expected {
    BodyUse use = BodyUse::kDropped;
    uint64_t caller = 0;
    size_t head = 0;  // Bytes that the head takes, until the answer is given, in the same memory.
    BodyBound bound{0};
    std::optional<uint64_t> length;  // As announced.
    bool asks = false;               // The client waits for leave.
  };
  StreamBody(StreamHost& host, StreamId stream);

  // Memory for a head that is still coming. False: `caller` gets none.
  bool HoldHead(uint64_t caller, size_t bytes);
  // The head is complete, and a body follows. False: the request has failed, and its head is not counted.
  bool Expect(const Expected& expected);
  void Take(absl::string_view bytes);
  void End();
  void Fail(ApiError error);
  // The client is gone.
  void Leave();
  // Behind the whole answer: drops what still comes. Returns at the end of the body, after a second without bytes, when
  // the time of a body is over, or in a drain. Some clients read their answer only between two pieces of the body, or
  // behind it, and take an earlier reset for a failure.
  boost::asio::awaitable<void> Linger();
  // The router drains.
  void Hurry() { arrived_.Notify(); }

  bool ended() const { return ended_; }
  // The body is stored, or taken in pieces; other bodies are dropped.
  bool wanted() const { return expected_.use != BodyUse::kDropped; }
  const std::optional<ApiError>& failed() const { return failed_; }
  // The head of the request, which is in memory once, with its stored body; once.
  ClientRequest TakeRequest(RequestHead head);

  void Begin() override;
  boost::asio::awaitable<BodyPiece> Next() override;
  std::optional<uint64_t> length() const override { return expected_.length; }
  uint64_t taken() const override { return taken_; }

 private:
  bool Store(absl::string_view bytes);
  ApiError TooLarge() const;
  void Drop(size_t bytes);
  void ArmDeadline();
  void OnDeadline();

  StreamHost& host_;
  const StreamId stream_;
  const LimitsConfig& limits_;
  Expected expected_;
  ClientRequest request_;  // Its body and its memory.
  BodyBuffer piece_;       // The handler has it.
  uint64_t taken_ = 0;
  uint64_t dropped_ = 0;
  Instant began_;
  bool ended_ = false;
  bool gone_ = false;
  std::optional<ApiError> failed_;
  Signal arrived_;
  CoarseDeadline deadline_;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_BODY_H_
