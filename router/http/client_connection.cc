#include "router/http/client_connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <span>
#include <utility>

#include "backends/transport/dead_peer.h"
#include "backends/transport/readiness.h"
#include "base/clock.h"
#include "router/http/answer.h"
#include "router/http/request_handler.h"

namespace penstock {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Bytes of pipelined requests that are read while one is being handled.
constexpr size_t kMaxReadAhead = 64 << 10;
constexpr Duration kLinger = Duration::Seconds(1);
// Spare connections are few: who has one must ask at once.
constexpr Duration kSpareTimeout = Duration::Seconds(2);
constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

RequestReader::Limits ReaderLimits(const LimitsConfig& limits, ByteBudget& bodies) {
  return {static_cast<size_t>(limits.max_header.value()), static_cast<size_t>(limits.max_body.value()), &bodies,
          limits.max_body_memory};
}

}  // namespace

// A request is being answered, whichever way that ends.
class ClientConnection::Busy {
 public:
  explicit Busy(ClientConnection& connection) : connection_(connection) {
    connection_.busy_ = true;
    connection_.loop_.edge().requests.fetch_add(1, std::memory_order_relaxed);
  }
  ~Busy() {
    connection_.busy_ = false;
    connection_.loop_.edge().requests.fetch_sub(1, std::memory_order_relaxed);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ClientConnection& connection_;
};

ClientConnection::ClientConnection(EventLoop& loop, LoopSocket socket, Use use, const TlsContext* tls)
    : loop_(loop),
      socket_(std::move(socket)),
      use_(use),
      limits_(loop.fleet()->config().limits),
      reader_(ReaderLimits(limits_, loop.edge().bodies)),
      readable_(loop.io()),
      read_deadline_(loop.deadlines(),
                     [this] {
                       timed_out_ = true;
                       readable_.Notify();
                     }),
      write_deadline_(loop.deadlines(), [this] { OnWriteTimeout(); }) {
  loop_.Enter(*this);
  loop_.edge().telemetry->OnConnectionOpened();
  error_code ec;
  socket_.non_blocking(true, ec);
  socket_.set_option(asio::ip::tcp::no_delay(true), ec);
  DetectDeadPeer(socket_.native_handle(), limits_.write_timeout);
  TellLeftInput(socket_.native_handle());
  if (tls != nullptr) tls_ = TlsSession::Accept(*tls, socket_.native_handle());
}

ClientConnection::~ClientConnection() {
  loop_.Leave(*this);
  loop_.edge().connections.fetch_sub(1, std::memory_order_relaxed);
  loop_.edge().telemetry->OnConnectionClosed();
}

void ClientConnection::Close() {
  MarkGone();
  error_code ec;
  socket_.close(ec);
  readable_.Notify();
}

void ClientConnection::CloseIfIdle() {
  if (!busy_ && reader_.Idle()) Close();
}

void ClientConnection::OnWriteTimeout() { Close(); }

void ClientConnection::MarkGone() {
  if (std::exchange(gone_, true)) return;
  if (auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

void ClientConnection::Watch(std::function<void()> on_gone) {
  on_gone_ = std::move(on_gone);
  if (gone_) {
    std::exchange(on_gone_, nullptr)();
    return;
  }
  AwaitReadable();
}

// One wait at a time is pending; whoever wants bytes then takes them.
void ClientConnection::AwaitReadable() {
  if (wait_pending_ || !socket_.is_open()) return;
  wait_pending_ = true;
  auto on_waited = [self = shared_from_this()](const error_code& ec, size_t = 0) {
    self->wait_pending_ = false;
    self->unread_ = true;
    if (ec != asio::error::operation_aborted) self->OnReadable();
  };
  if (tls_ != nullptr) {
    socket_.async_wait(asio::ip::tcp::socket::wait_read, std::move(on_waited));
  } else if (unread_) {
    asio::post(loop_.io(), [on_waited = std::move(on_waited)] { on_waited(error_code()); });
  } else {
    AsyncWaitEdge(socket_, std::move(on_waited));
  }
}

void ClientConnection::OnReadable() {
  if (reading_) {
    readable_.Resume();
  } else if (on_gone_) {
    PollWhileWatching();
  }
}

void ClientConnection::PollWhileWatching() {
  if (reader_.buffered() >= kMaxReadAhead) return;
  error_code ec;
  const size_t count = ReadSome(ec);
  if (ec == asio::error::would_block) {
    AwaitReadable();
  } else if (ec) {
    MarkGone();
  } else {
    reader_.Append(absl::string_view(loop_.scratch().data(), count));
    AwaitReadable();
  }
}

asio::awaitable<ClientConnection::Read> ClientConnection::ReadMore(Duration timeout) {
  timed_out_ = false;
  read_deadline_.Arm(timeout);
  reading_ = true;
  Read result = Read::kBytes;
  // While the wait of a watch goes on, there is nothing to read.
  if (wait_pending_ && !gone_) co_await readable_.Wait();
  while (true) {
    error_code ec;
    const size_t count = ReadSome(ec);
    if (!ec) {
      reader_.Offer(absl::string_view(loop_.scratch().data(), count));
      result = Read::kBytes;
      break;
    }
    result = timed_out_ ? Read::kTimeout : Read::kEnd;
    if (ec != asio::error::would_block || timed_out_ || gone_) break;
    AwaitReadable();
    co_await readable_.Wait();
  }
  reading_ = false;
  read_deadline_.Disarm();
  co_return result;
}

Duration ClientConnection::ReadTimeout() {
  if (spare()) return std::min(kSpareTimeout, limits_.header_timeout);
  if (reader_.InBody()) return limits_.body_timeout;
  if (reader_.Idle()) {
    head_began_ = Instant();
    return first_ ? limits_.header_timeout : limits_.idle_timeout;
  }
  const Instant now = Now();
  if (head_began_ == Instant()) head_began_ = now;
  return std::max(Duration::Milliseconds(1), limits_.header_timeout - (now - head_began_));
}

asio::awaitable<bool> ClientConnection::ReadRequest() {
  while (true) {
    switch (reader_.Advance()) {
      case RequestReader::State::kDone:
        first_ = false;
        co_return true;
      case RequestReader::State::kFailed:
        co_await FailRead(reader_.error());
        co_return false;
      case RequestReader::State::kHeadDone:
        if (reader_.expects_continue() && reader_.buffered() == 0) WriteSmall(kContinue);
        continue;
      case RequestReader::State::kNeedMore:
        break;
    }
    const Read read = co_await ReadMore(ReadTimeout());
    if (read == Read::kBytes) continue;
    if (reader_.Idle() || gone_) co_return false;
    if (read == Read::kTimeout) {
      const ApiError slow = MakeError(ErrorName::kRequestTimeout, "The request did not arrive in time.");
      co_await FailRead(slow);
    } else {
      loop_.edge().telemetry->OnBadInput(BadInput::kTruncated);
    }
    co_return false;
  }
}

asio::awaitable<void> ClientConnection::FailRead(const ApiError& error) {
  if (error.bad_input) loop_.edge().telemetry->OnBadInput(*error.bad_input);
  if (error.reason == LabelOf(TurnedAway::kBodyMemory)) loop_.edge().telemetry->OnTurnedAway(TurnedAway::kBodyMemory);
  ClientRequest none;
  none.keep_alive = false;
  Answer answer(loop_, *this, none, NewRequestId());
  co_await answer.Error(error);
  co_await Linger();
}

// Closing with unread bytes would reset the connection and may take the answer along.
asio::awaitable<void> ClientConnection::Linger() {
  error_code ec;
  if (tls_ != nullptr) tls_->Close();
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ec);
  const Instant end = Now() + kLinger;
  while (!gone_ && Now() < end) {
    const size_t count = ReadSome(ec);
    if (!ec && count > 0) continue;
    if (ec != asio::error::would_block) break;
    timed_out_ = false;
    reading_ = true;
    read_deadline_.Arm(end - Now());
    AwaitReadable();
    co_await readable_.Wait();
    reading_ = false;
  }
}

asio::awaitable<void> ClientConnection::Serve() {
  try {
    bool open = true;
    if (tls_ != nullptr) open = co_await StartTls();
    while (open && co_await ReadRequest()) {
      ClientRequest request = reader_.Take();
      if (spare()) request.keep_alive = false;
      const Busy busy(*this);
      const bool keep = co_await HandleRequest(loop_, *this, request);
      Unwatch();
      if (!keep || gone_) break;
    }
  } catch (const std::exception& surprise) {
    LogSurprise(surprise.what());
    Close();
  }
  if (!gone_) co_await Linger();
  error_code ec;
  socket_.close(ec);
}

void ClientConnection::LogSurprise(absl::string_view what) {
  if (loop_.edge().log == nullptr) return;
  DecisionEntry entry;
  entry.kind = DecisionEntry::Kind::kError;
  entry.reason = "internal";
  entry.message = std::string(what);
  loop_.edge().log->Write(std::move(entry));
}

size_t ClientConnection::ReadSome(error_code& ec) {
  if (tls_ != nullptr) return tls_->ReadSome(asio::buffer(loop_.scratch()), ec);
  return ReadNow(socket_.native_handle(), asio::buffer(loop_.scratch()), unread_, ec);
}

// Bytes that TLS began to send go before all others.
size_t ClientConnection::WriteSome(std::span<const asio::const_buffer> buffers, error_code& ec) {
  if (tls_ == nullptr) return socket_.write_some(buffers, ec);
  while (!owed_.empty()) {
    const asio::const_buffer owed = asio::buffer(owed_);
    const size_t sent = tls_->WriteSome({&owed, 1}, ec);
    if (ec) return 0;
    owed_.erase(0, sent);
  }
  return tls_->WriteSome(buffers, ec);
}

asio::awaitable<bool> ClientConnection::StartTls() {
  timed_out_ = false;
  read_deadline_.Arm(limits_.header_timeout);
  reading_ = true;
  error_code ec;
  while ((ec = tls_->Handshake()) == asio::error::would_block && !timed_out_ && !gone_) {
    if (tls_->wants_write()) {
      co_await socket_.async_wait(asio::ip::tcp::socket::wait_write, asio::redirect_error(asio::use_awaitable, ec));
      if (ec) break;
    } else {
      AwaitReadable();
      co_await readable_.Wait();
    }
  }
  reading_ = false;
  read_deadline_.Disarm();
  if (!ec && !gone_) co_return true;
  loop_.edge().telemetry->OnBadInput(timed_out_ ? BadInput::kTooSlow : BadInput::kMalformedHttp);
  Close();
  co_return false;
}

bool ClientConnection::WriteSmall(absl::string_view bytes) {
  error_code ec;
  const asio::const_buffer buffer(bytes.data(), bytes.size());
  const size_t count = WriteSome({&buffer, 1}, ec);
  if (ec == asio::error::would_block) {
    if (tls_ == nullptr || !owed_.empty()) return false;
    owed_ = std::string(bytes);
    return true;
  }
  if (ec || count < bytes.size()) Close();
  return true;
}

Written ClientConnection::WriteNow(std::span<asio::const_buffer>& buffers) {
  while (!buffers.empty() && !gone_) {
    error_code ec;
    size_t count = WriteSome(buffers, ec);
    if (ec == asio::error::would_block) return Written::kPart;
    if (ec) MarkGone();
    while (!buffers.empty() && count >= buffers.front().size()) {
      count -= buffers.front().size();
      buffers = buffers.subspan(1);
    }
    if (!buffers.empty()) buffers.front() += count;
  }
  return gone_ ? Written::kGone : Written::kAll;
}

asio::awaitable<bool> ClientConnection::Write(std::vector<asio::const_buffer> buffers) {
  std::span<asio::const_buffer> left(buffers);
  Written written = WriteNow(left);
  while (written == Written::kPart) {
    error_code ec;
    write_deadline_.Arm(limits_.write_timeout);
    co_await socket_.async_wait(asio::ip::tcp::socket::wait_write, asio::redirect_error(asio::use_awaitable, ec));
    write_deadline_.Disarm();
    if (ec) MarkGone();
    written = WriteNow(left);
  }
  co_return written == Written::kAll;
}

}  // namespace penstock
