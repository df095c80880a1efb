#include "router/http/http2/outbox.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <utility>

namespace penstock::http2 {
namespace asio = boost::asio;

namespace {

// A buffer larger than this is given back once it is empty.
constexpr size_t kKept = 1 << 10;

}  // namespace

Outbox::Outbox(EventLoop& loop, ClientSocket& socket, Duration longest, std::function<void()> on_room)
    : loop_(loop),
      socket_(socket),
      longest_(longest),
      on_room_(std::move(on_room)),
      deadline_(loop.deadlines(), [this] { OnDeadline(); }) {}

bool Outbox::Write() {
  if (waiting_ || failed_) return false;
  size_t sent = 0;
  ClientSocket::ErrorCode ec;
  while (sent < bytes_.size() && !ec) {
    const asio::const_buffer rest(bytes_.data() + sent, bytes_.size() - sent);
    sent += socket_.WriteSome({&rest, 1}, ec);
  }
  bytes_.erase(0, sent);
  if (bytes_.empty() && bytes_.capacity() > kKept) std::string().swap(bytes_);
  failed_ = ec && ec != asio::error::would_block;
  if (!ec) return true;
  if (!failed_) {
    waiting_ = true;
    asio::co_spawn(loop_.io(), AwaitRoom(), asio::detached);
  }
  return false;
}

asio::awaitable<void> Outbox::AwaitRoom() {
  untaken_ = Untaken();
  deadline_.Arm(longest_);
  const ClientSocket::ErrorCode ec = co_await socket_.AwaitRoom();
  deadline_.Disarm();
  waiting_ = false;
  if (ec) failed_ = true;
  on_room_();
}

// The kernel tells of room only when much of what it holds is gone.
void Outbox::OnDeadline() {
  const uint64_t untaken = Untaken();
  if (untaken >= untaken_) return socket_.Close();
  untaken_ = untaken;
  deadline_.Arm(longest_);
}

}  // namespace penstock::http2
