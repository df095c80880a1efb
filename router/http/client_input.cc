#include "router/http/client_input.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "router/http/http2/session.h"
#include "router/http/socket/drain_watch.h"

namespace penstock {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Bytes of pipelined requests that are read while one is being handled.
constexpr size_t kMaxReadAhead = 256 << 10;
constexpr Duration kHurry = Duration::Seconds(2);

RequestReader::Limits ReaderLimits(const LimitsConfig& limits, FairBudget& bodies,
                                   const ClientInput::Options& options) {
  return {static_cast<size_t>(limits.max_header.value()),
          static_cast<size_t>(limits.max_body.value()),
          &bodies,
          limits.max_body_memory,
          options.peer,
          options.max_body};
}

}  // namespace

ClientInput::ClientInput(EventLoop& loop, ClientSocket& socket, const LimitsConfig& limits, const Options& options,
                         std::function<void()> on_gone)
    : loop_(loop),
      socket_(socket),
      limits_(limits),
      manner_(options.manner),
      on_gone_(std::move(on_gone)),
      reader_(ReaderLimits(limits, loop.edge().bodies, options)),
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
    turn_.Restart(Now());
    readable_.Resume();
  } else if (watching_) {
    ReadAhead();
  }
}

// A client that sends more than this ahead cannot be watched, because its end comes behind its bytes.
void ClientInput::ReadAhead() {
  if (socket_.ended()) return on_gone_();
  error_code ec;
  const size_t count = socket_.ReadSome(asio::buffer(loop_.scratch()), ec);
  if (ec && ec != asio::error::would_block) return on_gone_();
  if (!ec) reader_.Append(absl::string_view(loop_.scratch().data(), count));
  if (reader_.unread().size() > kMaxReadAhead) {
    loop_.edge().telemetry->OnBadInput(BadInput::kHeaderTooLarge);
    return on_gone_();
  }
  socket_.AwaitInput(*this);
}

asio::awaitable<void> ClientInput::AwaitBytes() {
  socket_.AwaitInput(*this);
  return readable_.Wait();
}

asio::awaitable<void> ClientInput::EndTurn() {
  co_await LetOthersRun(loop_.io());
  turn_.Restart(Now());
}

asio::awaitable<ClientInput::Read> ClientInput::ReadMore(Duration timeout) {
  timed_out_ = false;
  deadline_.Arm(timeout);
  reading_ = true;
  Read result = Read::kBytes;
  // While the wait of a watch goes on, there is nothing to read.
  if (socket_.waiting() && socket_.open()) co_await AwaitBytes();
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
    co_await AwaitBytes();
  }
  reading_ = false;
  deadline_.Disarm();
  co_return result;
}

Duration ClientInput::ReadTimeout() {
  const Duration longest = manner_.in_a_hurry ? std::min(kHurry, limits_.header_timeout) : limits_.header_timeout;
  if (reader_.Idle()) {
    began_ = Instant();
    return first_ || manner_.in_a_hurry ? longest : limits_.idle_timeout;
  }
  const Instant now = Now();
  if (began_ == Instant()) began_ = now;
  return reader_.InBody() ? BodyTimeout(now) : longest - (now - began_);
}

Duration ClientInput::BodyTimeout(Instant now) {
  const Duration spent = now - began_;
  const Duration at_rate = TimeLeftAtRate(limits_.min_body_rate, limits_.body_timeout, reader_.body_taken(), spent);
  return std::min({limits_.body_timeout, limits_.max_body_time - spent, at_rate});
}

asio::awaitable<ClientInput::Event> ClientInput::Next() {
  bool has_read = false;
  bool fresh = first_ && manner_.http2 && !reader_.InBody();  // All bytes so far may be those of a preface.
  while (true) {
    if (fresh && !reader_.unread().empty()) {
      if (absl::StartsWith(reader_.unread(), http2::kPreface)) co_return Event::kHttp2;
      fresh = absl::StartsWith(http2::kPreface, reader_.unread());
      if (fresh) reader_.KeepInput();
    }
    // Offered bytes lie in the scratch of the loop: nothing may run before this took them.
    switch (fresh ? RequestReader::State::kNeedMore : reader_.Advance()) {
      case RequestReader::State::kDone:
        first_ = false;
        began_ = Instant();
        if (turn_.Step(Now())) co_await EndTurn();
        co_return socket_.open() ? Event::kRequest : Event::kEnd;
      case RequestReader::State::kFailed:
        co_return Fail(reader_.error());
      case RequestReader::State::kHeadDone:
        began_ = Instant();
        co_return Event::kHead;
      case RequestReader::State::kPiece:
        if (turn_.Step(Now())) co_await EndTurn();
        co_return socket_.open() ? Event::kPiece : Event::kEnd;
      case RequestReader::State::kNeedMore:
        break;
    }
    if (has_read && turn_.Step(Now())) co_await EndTurn();
    if (refused()) co_return Event::kFailed;
    has_read = true;
    const Duration timeout = ReadTimeout();
    Read read = Read::kTimeout;
    if (timeout > Duration()) read = co_await ReadMore(timeout);
    if (read == Read::kBytes) continue;
    if (reader_.Idle() || !socket_.open()) co_return Event::kEnd;
    if (refused()) co_return Event::kFailed;
    if (read == Read::kTimeout) {
      co_return Fail(MakeError(ErrorName::kRequestTimeout, "The request did not arrive in time."));
    }
    loop_.edge().telemetry->OnBadInput(BadInput::kTruncated);
    co_return Event::kEnd;
  }
}

void ClientInput::Refuse(ApiError error) {
  Fail(std::move(error));
  // Its wait for bytes is over.
  timed_out_ = true;
  readable_.Notify();
}

ClientInput::Event ClientInput::Fail(ApiError error) {
  // The answer to the first error may be under way.
  if (error_ == nullptr) error_ = std::make_unique<const ApiError>(std::move(error));
  return Event::kFailed;
}

// A health check of a proxy may connect and leave without a word.
asio::awaitable<ProxyHeader> ClientInput::TakeProxyHeader() {
  ProxyHeader header;
  timed_out_ = false;
  deadline_.Arm(manner_.in_a_hurry ? std::min(kHurry, limits_.header_timeout) : limits_.header_timeout);
  reading_ = true;
  size_t seen = 0;
  while (header.state == ProxyHeader::State::kNeedMore && !timed_out_ && socket_.open()) {
    error_code ec;
    const size_t count = socket_.Peek(asio::buffer(loop_.scratch(), ProxyHeader::kMaxBytes), seen, ec);
    if (!ec) {
      seen = count;
      header = ReadProxyHeader(absl::string_view(loop_.scratch().data(), count));
    } else if (ec == asio::error::would_block && !socket_.ended()) {
      co_await AwaitBytes();
    } else {
      break;
    }
  }
  reading_ = false;
  deadline_.Disarm();
  if (header.state == ProxyHeader::State::kDone) socket_.Skip(asio::buffer(loop_.scratch()), header.size);
  if (header.state == ProxyHeader::State::kNeedMore && seen > 0) {
    loop_.edge().telemetry->OnBadInput(timed_out_ ? BadInput::kTooSlow : BadInput::kTruncated);
  }
  co_return header;
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
      co_await AwaitBytes();
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
  turn_.Restart(Now());
  for (Instant now = Now(); socket_.open() && now < end; now = Now()) {
    error_code ec;
    const size_t count = socket_.ReadSome(asio::buffer(loop_.scratch()), ec);
    if (!ec && count > 0) {
      if (turn_.Step(Now())) co_await EndTurn();
      continue;
    }
    if (ec != asio::error::would_block) break;
    timed_out_ = false;
    reading_ = true;
    deadline_.Arm(end - now);
    co_await AwaitBytes();
    reading_ = false;
  }
}

}  // namespace penstock
