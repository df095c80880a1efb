#include "router/http/client_input.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "base/clock.h"

namespace penstock {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Bytes of pipelined requests that are read while one is being handled.
constexpr size_t kMaxReadAhead = 64 << 10;
constexpr Duration kHurry = Duration::Seconds(2);

RequestReader::Limits ReaderLimits(const LimitsConfig& limits, ByteBudget& bodies) {
  return {static_cast<size_t>(limits.max_header.value()), static_cast<size_t>(limits.max_body.value()), &bodies,
          limits.max_body_memory};
}

}  // namespace

ClientInput::ClientInput(EventLoop& loop, ClientSocket& socket, const LimitsConfig& limits, bool in_a_hurry,
                         std::function<void()> on_gone)
    : loop_(loop),
      socket_(socket),
      limits_(limits),
      in_a_hurry_(in_a_hurry),
      on_gone_(std::move(on_gone)),
      reader_(ReaderLimits(limits, loop.edge().bodies)),
      readable_(loop.io()),
      deadline_(loop.deadlines(), [this] {
        timed_out_ = true;
        readable_.Notify();
      }) {}

void ClientInput::Watch() {
  watching_ = true;
  socket_.AwaitInput(*this);
}

void ClientInput::OnInput() {
  if (reading_) {
    readable_.Resume();
  } else if (watching_) {
    ReadAhead();
  }
}

void ClientInput::ReadAhead() {
  if (reader_.buffered() >= kMaxReadAhead) return;
  error_code ec;
  const size_t count = socket_.ReadSome(asio::buffer(loop_.scratch()), ec);
  if (ec && ec != asio::error::would_block) return on_gone_();
  if (!ec) reader_.Append(absl::string_view(loop_.scratch().data(), count));
  socket_.AwaitInput(*this);
}

asio::awaitable<ClientInput::Read> ClientInput::ReadMore(Duration timeout) {
  timed_out_ = false;
  deadline_.Arm(timeout);
  reading_ = true;
  Read result = Read::kBytes;
  // While the wait of a watch goes on, there is nothing to read.
  if (socket_.waiting() && socket_.open()) co_await readable_.Wait();
  while (true) {
    error_code ec;
    const size_t count = socket_.ReadSome(asio::buffer(loop_.scratch()), ec);
    if (!ec) {
      reader_.Offer(absl::string_view(loop_.scratch().data(), count));
      result = Read::kBytes;
      break;
    }
    result = timed_out_ ? Read::kTimeout : Read::kEnd;
    if (ec != asio::error::would_block || timed_out_ || !socket_.open()) break;
    socket_.AwaitInput(*this);
    co_await readable_.Wait();
  }
  reading_ = false;
  deadline_.Disarm();
  co_return result;
}

Duration ClientInput::ReadTimeout() {
  if (in_a_hurry_) return std::min(kHurry, limits_.header_timeout);
  if (reader_.InBody()) return limits_.body_timeout;
  if (reader_.Idle()) {
    head_began_ = Instant();
    return first_ ? limits_.header_timeout : limits_.idle_timeout;
  }
  const Instant now = Now();
  if (head_began_ == Instant()) head_began_ = now;
  return std::max(Duration::Milliseconds(1), limits_.header_timeout - (now - head_began_));
}

asio::awaitable<ClientInput::Event> ClientInput::Next() {
  while (true) {
    switch (reader_.Advance()) {
      case RequestReader::State::kDone:
        first_ = false;
        co_return Event::kRequest;
      case RequestReader::State::kFailed:
        co_return Fail(reader_.error());
      case RequestReader::State::kHeadDone:
        co_return Event::kHead;
      case RequestReader::State::kNeedMore:
        break;
    }
    const Read read = co_await ReadMore(ReadTimeout());
    if (read == Read::kBytes) continue;
    if (reader_.Idle() || !socket_.open()) co_return Event::kEnd;
    if (read == Read::kTimeout) {
      co_return Fail(MakeError(ErrorName::kRequestTimeout, "The request did not arrive in time."));
    }
    loop_.edge().telemetry->OnBadInput(BadInput::kTruncated);
    co_return Event::kEnd;
  }
}

ClientInput::Event ClientInput::Fail(ApiError error) {
  error_ = std::move(error);
  return Event::kFailed;
}

asio::awaitable<bool> ClientInput::StartTls() {
  timed_out_ = false;
  deadline_.Arm(limits_.header_timeout);
  reading_ = true;
  error_code ec;
  while ((ec = socket_.Handshake()) == asio::error::would_block && !timed_out_ && socket_.open()) {
    if (socket_.wants_write()) {
      ec = co_await socket_.AwaitRoom();
      if (ec) break;
    } else {
      socket_.AwaitInput(*this);
      co_await readable_.Wait();
    }
  }
  reading_ = false;
  deadline_.Disarm();
  if (!ec && socket_.open()) co_return true;
  loop_.edge().telemetry->OnBadInput(timed_out_ ? BadInput::kTooSlow : BadInput::kMalformedHttp);
  co_return false;
}

asio::awaitable<void> ClientInput::Drain(Duration longest) {
  const Instant end = Now() + longest;
  while (socket_.open() && Now() < end) {
    error_code ec;
    const size_t count = socket_.ReadSome(asio::buffer(loop_.scratch()), ec);
    if (!ec && count > 0) continue;
    if (ec != asio::error::would_block) break;
    timed_out_ = false;
    reading_ = true;
    deadline_.Arm(end - Now());
    socket_.AwaitInput(*this);
    co_await readable_.Wait();
    reading_ = false;
  }
}

}  // namespace penstock
