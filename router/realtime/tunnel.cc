#include "router/realtime/tunnel.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/clock.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The time of the second side to end behind the first one.
constexpr Duration kLinger = Duration::Seconds(1);

}  // namespace

Tunnel::Tunnel(EventLoop& loop, Side client, Side engine, Limits limits, Passed passed)
    : loop_(loop),
      up_{*client.socket, *engine.socket, std::move(client.unread)},
      down_{*engine.socket, *client.socket, std::move(engine.unread)},
      limits_(limits),
      passed_(std::move(passed)),
      began_(Now()),
      last_byte_(began_),
      wake_(loop.io()),
      deadline_(loop.deadlines(), [this] { wake_.Notify(); }) {
  client.socket->SetOwner(*this);
  engine.socket->SetOwner(*this);
}

void Tunnel::Stop() {
  stopped_ = true;
  wake_.Notify();
}

bool Tunnel::Write(Direction& way) {
  StreamSocket::ErrorCode error;
  const asio::const_buffer bytes(way.rest.data(), way.rest.size());
  const size_t count = way.to.WriteSome({&bytes, 1}, error);
  way.written += count;
  way.rest.erase(0, count);
  if (way.rest.empty()) std::string().swap(way.rest);
  return !error || error == asio::error::would_block;
}

Tunnel::Moved Tunnel::Step(Direction& way) {
  if (!way.rest.empty()) {
    if (!way.to.may_write()) return Moved::kNothing;
    const size_t before = way.rest.size();
    if (!Write(way)) return Moved::kFailed;
    return way.rest.size() < before ? Moved::kBytes : Moved::kNothing;
  }
  if (way.ended) {
    if (std::exchange(way.shut, true)) return Moved::kNothing;
    way.to.ShutDownSend();
    return Moved::kBytes;
  }
  if (!way.from.may_read()) return Moved::kNothing;
  StreamSocket::ErrorCode error;
  auto& scratch = loop_.scratch();
  const size_t count = way.from.ReadSome(asio::buffer(scratch), error);
  if (error == asio::error::would_block) return Moved::kNothing;
  if (error == asio::error::eof) {
    way.ended = true;
    Note(&way == &up_ ? RealtimeEnd::kClient : RealtimeEnd::kEngine);
    return Moved::kBytes;
  }
  if (error) return Moved::kFailed;
  const asio::const_buffer bytes(scratch.data(), count);
  const size_t written = way.to.WriteSome({&bytes, 1}, error);
  if (error && error != asio::error::would_block) return Moved::kFailed;
  way.written += written;
  way.rest.assign(scratch.data() + written, count - written);
  return Moved::kBytes;
}

void Tunnel::Note(RealtimeEnd end) {
  if (end_) return;
  end_ = end;
  linger_until_ = Now() + kLinger;
}

std::optional<RealtimeEnd> Tunnel::LimitReached(Instant now) const {
  if (stopped_) return RealtimeEnd::kStopped;
  if (now - began_ >= limits_.time) return RealtimeEnd::kTime;
  if (now - last_byte_ >= limits_.idle) return RealtimeEnd::kIdle;
  return now >= linger_until_ ? end_ : std::nullopt;
}

void Tunnel::ArmDeadline(Instant now) {
  Instant at = std::min(began_ + limits_.time, last_byte_ + limits_.idle);
  at = std::min(at, linger_until_);
  deadline_.Arm(at - now, now);
}

asio::awaitable<RealtimeEnd> Tunnel::Run() {
  // Also where memory is refused: no socket outlives its tunnel.
  const auto close = absl::MakeCleanup([this] {
    deadline_.Disarm();
    up_.from.Close();
    up_.to.Close();
  });
  turn_.Restart(Now());
  while (!Over()) {
    const Moved up = Step(up_);
    const Moved down = Step(down_);
    passed_(std::exchange(up_.written, 0), std::exchange(down_.written, 0));
    if (up == Moved::kFailed || down == Moved::kFailed) {
      Note(RealtimeEnd::kBroken);
      break;
    }
    const Instant now = Now();
    if (const std::optional<RealtimeEnd> limit = LimitReached(now)) {
      Note(*limit);
      break;
    }
    if (up == Moved::kNothing && down == Moved::kNothing) {
      ArmDeadline(now);
      co_await wake_.Wait();
      turn_.Restart(Now());
      continue;
    }
    last_byte_ = now;
    if (!turn_.Step(now)) continue;
    co_await LetOthersRun(loop_.io());
    turn_.Restart(Now());
  }
  co_return *end_;
}

}  // namespace penstock
