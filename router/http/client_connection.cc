#include "router/http/client_connection.h"

#include <boost/asio/error.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "router/http/exchange/peer_error.h"
#include "router/http/http1_answer.h"
#include "router/http/http2/connection.h"
#include "router/http/request/drain_refusal.h"
#include "router/http/request_handler.h"

namespace penstock {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr Duration kLinger = Duration::Seconds(1);
// Bytes of a refused request's body that are read so that the connection can take the next request.
constexpr uint64_t kDroppedBody = 64 << 10;
constexpr Bytes kHandshakeBytes{48 << 10};  // Of the TLS library, until a handshake has ended.

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

// Spare connections are few, so each has to ask at once.
ClientConnection::ClientConnection(EventLoop& loop, int socket, const ClientPeer& peer, Use use, const TlsContext* tls)
    : ClientChannel(peer, use),
      loop_(loop),
      limits_(loop.fleet()->limits),
      socket_(loop.io(), socket, tls, limits_->write_timeout),
      input_(loop, socket_, *limits_,
             {.manner = {use == Use::kSpare, loop.fleet()->config().http2},
              .peer = peer.account(),
              .max_body = [this](const RequestHead& head) { return LargestBody(loop_, head); }},
             [this] { MarkGone(); }),
      upload_(*this, input_),
      drain_(*limits_),
      write_deadline_(loop.deadlines(), [this] { OnWriteDeadline(); }) {
  loop_.connections().Enter(*this, peer.account());
  loop_.edge().telemetry->OnConnection(/*opened=*/true);
}

ClientConnection::~ClientConnection() {
  loop_.connections().Leave(*this);
  loop_.edge().connections.fetch_sub(1, std::memory_order_relaxed);
  loop_.edge().telemetry->OnConnection(/*opened=*/false);
}

void ClientConnection::Close() {
  MarkGone();
  socket_.Close();
  input_.OnClosed();
  if (http2_ != nullptr) http2_->OnSocketClosed();
}

void ClientConnection::CloseIfIdle() {
  if (http2_ != nullptr) return http2_->Leave();
  if (busy_) {
    // Its handler waits for the rest of a body, and answers with the refusal.
    if (upload_.unread()) input_.Refuse(RefusedByDrain());
    if (const auto left = drain_.Hurry(Now())) write_deadline_.Arm(*left);
    return;
  }
  if (input_.Idle()) return Close();
  if (!upload_.dropped()) refusing_ = std::make_unique<Busy>(*this);
  input_.Refuse(RefusedByDrain());
}

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
  input_.Watch();
}

void ClientConnection::Unwatch() {
  on_gone_ = nullptr;
  input_.Unwatch();
}

asio::awaitable<void> ClientConnection::FailRead(ApiError error) {
  ClientRequest none;
  none.keep_alive = false;
  none.target = input_.head().target;  // Empty before a request line.
  none.method = input_.head().method;
  const absl::string_view origin = FindHeader(input_.head().headers, "origin");
  if (!origin.empty()) none.headers.Add("origin", origin);
  Http1Answer answer(loop_, *this, none);
  co_await RefuseRequest(loop_, *this, none, error, answer);
}

// Closing with unread bytes would reset the connection and may take the answer along.
asio::awaitable<void> ClientConnection::Linger() {
  socket_.EndSending();
  co_await input_.Drain(kLinger);
}

asio::awaitable<bool> ClientConnection::Greet() {
  if (peer().named != nullptr) {
    const ProxyHeader header = co_await input_.TakeProxyHeader();
    if (!TakeAddress(header)) co_return false;
  }
  if (!socket_.secure()) co_return true;
  FairShare handshake(&loop_.edge().bodies, peer().account());
  if (!handshake.GrowTo(kHandshakeBytes, limits_->max_body_memory)) {
    loop_.edge().telemetry->OnTurnedAway(TurnedAway::kBodyMemory);
    co_return false;
  }
  co_return co_await input_.StartTls();
}

bool ClientConnection::TakeAddress(const ProxyHeader& header) {
  Edge& edge = loop_.edge();
  if (header.state == ProxyHeader::State::kBad) {
    edge.telemetry->OnBadInput(BadInput::kProxyHeader);
    if (const auto suppressed = edge.proxy_lines.Take(Now()))
      LogPeerError(edge, peer(), LabelOf(BadInput::kProxyHeader), absl::StrCat("bad PROXY header: ", header.fault),
                   *suppressed);
  }
  if (header.state != ProxyHeader::State::kDone) return false;
  if (!header.client) return true;
  named_peer().address = *header.client;
  input_.SetPeer(peer().account());
  ConnectionSet& connections = loop_.connections();
  const uint64_t account = peer().account();
  auto& place = named_peer().place = peer().named->Enter(account, PeerCounts::MostOfOnePeer(limits_->max_connections));
  if (place == nullptr && connections.CloseOldestOf(account, Now())) place = peer().named->Replace(account);
  connections.SetOwner(*this, account);
  if (place == nullptr) edge.telemetry->OnTurnedAway(TurnedAway::kConnections);
  return place != nullptr;
}

asio::awaitable<void> ClientConnection::Serve() {
  try {
    if (use() == Use::kClient) Wait(/*served=*/false);
    bool more = co_await Greet();
    if (!more) Close();
    bool served = false;
    bool uploads = false;  // Its request has a head, and the body is on its way.
    while (more && !gone_) {
      if (!uploads && use() == Use::kClient) Wait(served);
      const ClientInput::Event event = co_await input_.Next();
      loop_.connections().SetBusy(*this);
      const bool head_only = event == ClientInput::Event::kHead;
      uploads = head_only && AdmitBody();
      if (uploads) continue;
      if (head_only || event == ClientInput::Event::kRequest) {
        ClientRequest request = upload_.Take();
        if (use() == Use::kSpare || (head_only && !upload_.unread())) request.keep_alive = false;
        std::optional<Busy> busy(std::in_place, *this);
        drain_.BeginAnswer();
        Http1Answer answer(loop_, *this, request);
        more = co_await HandleRequest(loop_, *this, request, answer);
        busy.reset();
        Unwatch();
        served = true;
        if (more && upload_.dropped()) co_await DropRest();
        more = upload_.Finish() && more;
      } else {
        if (event == ClientInput::Event::kHttp2) co_await ServeHttp2();
        if (event == ClientInput::Event::kFailed) co_await FailRead(input_.error());
        more = false;
      }
    }
  } catch (const std::exception& surprise) {
    LogPeerError(loop_.edge(), peer(), "internal", surprise.what());
    Close();
  }
  if (!gone_ && socket_.open()) co_await Linger();
  socket_.Close();
}

// The client has its answer, so the connection counts as idle meanwhile, and may be closed for another one.
asio::awaitable<void> ClientConnection::DropRest() {
  if (use() == Use::kClient) Wait(/*served=*/true);
  const std::optional<BadInput> fault = co_await upload_.DropRest();
  if (fault) loop_.edge().telemetry->OnBadInput(*fault);
}

asio::awaitable<void> ClientConnection::ServeHttp2() {
  std::string begun(input_.reader().unread());  // It may lie in the scratch of the loop.
  HttpService service(loop_);
  http2_ = std::make_unique<http2::Connection>(http2::Connection::Parts{loop_, socket_, *this, service, *limits_},
                                               peer(), use());
  co_await http2_->Serve(std::move(begun));
  http2_.reset();
}

void ClientConnection::Wait(bool served) {
  ConnectionSet& connections = loop_.connections();
  served ? connections.SetIdle(*this, Now()) : connections.SetNew(*this, Now());
}

bool ClientConnection::AdmitBody() {
  const RequestHead& head = input_.head();
  if (const std::optional<uint64_t> caller = CallerOfBody(loop_, *this, head)) {
    input_.reader().SetCaller(*caller);
    if (TakesPieces(head)) return upload_.Expect(), false;
    if (input_.AwaitsContinue()) WriteSmall(kContinue);
    return true;
  }
  if (!head.expects_continue && head.length.value_or(kDroppedBody + 1) <= kDroppedBody) upload_.Drop();
  return false;
}

bool ClientConnection::WriteSmall(absl::string_view bytes) {
  error_code ec;
  const size_t count = socket_.WriteOrOwe(bytes, ec);
  CountWritten(count);
  if (ec == asio::error::would_block) return false;
  if (ec || count < bytes.size()) Close();
  return true;
}

Written ClientConnection::WriteNow(std::span<asio::const_buffer>& buffers, Push push) {
  size_t written = 0;
  while (!buffers.empty() && !gone_) {
    if (written >= kMostAtOnce) return Written::kPart;
    error_code ec;
    size_t count = socket_.WriteSome(buffers, ec, push);
    CountWritten(count);
    if (ec == asio::error::would_block) return Written::kPart;
    written += count;
    if (ec) MarkGone();
    while (!buffers.empty() && count >= buffers.front().size()) {
      count -= buffers.front().size();
      buffers = buffers.subspan(1);
    }
    if (!buffers.empty()) buffers.front() += count;
  }
  return gone_ ? Written::kGone : Written::kAll;
}

// The kernel tells of room only when much of what it holds is gone.
void ClientConnection::OnWriteDeadline() {
  const Duration longest = drain_.GoOn(Now(), socket_.Untaken());
  if (longest > Duration()) {
    write_deadline_.Arm(longest);
  } else {
    CloseSlow();
  }
}

void ClientConnection::CloseSlow() {
  const int answers = http2_ == nullptr ? 1 : http2_->answers();
  if (drain_.hurried()) loop_.edge().cut.fetch_add(answers, std::memory_order_relaxed);
  Close();
}

asio::awaitable<bool> ClientConnection::Write(std::vector<asio::const_buffer> buffers) {
  std::span<asio::const_buffer> left(buffers);
  Written written = WriteNow(left);
  while (written == Written::kPart) {
    if (loop_.edge().draining.load(std::memory_order_relaxed)) drain_.Hurry(Now());
    const Duration longest = drain_.BeginWait(Now(), socket_.Untaken());
    if (longest <= Duration()) CloseSlow();
    write_deadline_.Arm(longest);
    const error_code ec = co_await socket_.AwaitRoom();
    write_deadline_.Disarm();
    if (ec) MarkGone();
    const size_t before = asio::buffer_size(left);
    written = WriteNow(left);
    drain_.EndWait(Now(), before - asio::buffer_size(left));
  }
  co_return written == Written::kAll;
}

}  // namespace penstock
