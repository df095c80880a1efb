// The bytes of one connection of HTTP/2 that its socket has not taken, and the wait for room.
//
// The owner fills it while it is not full(). A client that takes nothing for limits.write_timeout is cut off. Belongs
// to one loop. The owner waits for idle() before it ends.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_OUTBOX_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_OUTBOX_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "router/http/socket/client_socket.h"
#include "router/live/deadlines.h"
#include "router/live/event_loop.h"

namespace penstock::http2 {

class Outbox {
 public:
  // One frame more is the most that it holds.
  static constexpr size_t kMost = 16 << 10;

  // `on_room` runs when the socket has room again, or was closed.
  Outbox(EventLoop& loop, ClientSocket& socket, Duration longest, std::function<void()> on_room);

  bool full() const { return bytes_.size() >= kMost; }
  void Add(absl::string_view bytes) { bytes_.append(bytes.data(), bytes.size()); }
  // Writes what the socket takes. False: some are left, and `on_room` follows; or the socket has failed.
  bool Write();
  bool idle() const { return !waiting_; }
  bool failed() const { return failed_; }
  // Bytes that the client's machine has not taken; 0 unless a wait goes on.
  uint64_t Untaken() const { return waiting_ ? bytes_.size() + socket_.Untaken() : 0; }

 private:
  boost::asio::awaitable<void> AwaitRoom();
  void OnDeadline();

  EventLoop& loop_;
  ClientSocket& socket_;
  const Duration longest_;
  const std::function<void()> on_room_;
  std::string bytes_;
  bool waiting_ = false;
  bool failed_ = false;
  uint64_t untaken_ = 0;  // When the wait began, or was looked at last.
  CoarseDeadline deadline_;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_OUTBOX_H_
