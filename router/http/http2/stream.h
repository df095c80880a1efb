// One stream of HTTP/2: a request on its way in, its answer on its way out, and the end of its client.
//
// The connection feeds it from the session and starts its handler when it can begin. A handler that writes waits while
// the client has no window or the socket has no room. It waits as long as DrainWatch allows; then the stream alone is
// reset. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "base/fair_budget.h"
#include "router/http/exchange/client_channel.h"
#include "router/http/exchange/request_service.h"
#include "router/http/http2/head_builder.h"
#include "router/http/http2/stream_body.h"
#include "router/http/http2/stream_host.h"
#include "router/http/http2/stream_output.h"
#include "router/http/socket/drain_watch.h"
#include "router/live/deadlines.h"
#include "router/live/signal.h"
#include "router/session/client/client.h"

namespace penstock::http2 {

class Stream final : public ClientChannel {
 public:
  // Memory of a stream beside its head and its body: with its handler, a short answer, and its part of nghttp2.
  static constexpr Bytes kBytes{6 << 10};

  // `memory` holds kBytes.
  Stream(StreamHost& host, StreamId id, const ClientPeer& peer, Use use, FairShare memory);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // The way in: from the session.
  HeadBuilder& head() { return head_; }
  // A field of the head, or of trailers.
  void TakeField(absl::string_view name, absl::string_view value);
  StreamBody& body() { return body_; }
  void EndHead(RequestService& service, bool ended);
  // The session has closed the stream.
  void OnClosed();
  // The client is gone. Its watcher hears of it from TellGone().
  void MarkGone();
  void TellGone();
  // The handler can begin: the request is whole, refused, or comes in pieces. True once.
  bool TakeReady();
  bool begun() const { return begun_; }
  // The fault that makes the request unreadable.
  const std::optional<ApiError>& error() const { return head_.error() ? head_.error() : body_.failed(); }
  // The router drains: a client that takes nothing has less time from now on.
  void Hurry();
  // After the handler: ends what is not ended.
  void Finish();

  // The way out: for the answer. `ended`: nothing follows the head.
  void SendHead(int status, const HeaderList& headers, bool ended);
  StreamOutput& output() { return output_; }
  // Sends the output as far as it goes.
  Written Send();
  // Waits until the output is gone. False: the client is.
  boost::asio::awaitable<bool> Drain();
  // For the session.
  size_t Take(std::span<uint8_t> into, bool& ended);

  bool gone() const { return gone_; }
  void Watch(std::function<void()> on_gone);
  void Unwatch() { on_gone_ = nullptr; }
  BodySource& upload() override { return body_; }
  void Reuse(BodyBuffer) override {}

 private:
  void OnSlow();
  uint64_t Waiting() const { return output_.size() + host_.Untaken(); }

  StreamHost& host_;
  const StreamId id_;
  const FairShare memory_;
  HeadBuilder head_;
  StreamBody body_;
  StreamOutput output_;
  DrainWatch drain_;
  CoarseDeadline deadline_;
  Signal sent_;
  std::function<void()> on_gone_;
  bool head_ended_ = false;
  bool in_pieces_ = false;
  bool begun_ = false;  // The handler was started.
  bool closed_ = false;
  bool gone_ = false;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_H_
