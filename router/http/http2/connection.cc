#include "router/http/http2/connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <cassert>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "router/http/http2/stream_answer.h"
#include "router/http/request/drain_refusal.h"

namespace penstock::http2 {
namespace asio = boost::asio;

namespace {

// Bytes that are read at once: the smallest frames among them are half a millisecond's work.
constexpr size_t kRead = 16 << 10;
// Memory of a connection: nghttp2's tables and buffers, and the bytes on their way in and out.
constexpr Bytes kConnectionBytes{48 << 10};
constexpr Duration kHurry = Duration::Seconds(2);

Session::Options OptionsOf(const LimitsConfig& limits) {
  return {static_cast<uint32_t>(limits.max_streams), static_cast<uint32_t>(limits.max_header.value())};
}

// A request is being answered, whichever way that ends.
class Counted {
 public:
  explicit Counted(Edge& edge) : edge_(edge) { edge_.requests.fetch_add(1, std::memory_order_relaxed); }
  ~Counted() { edge_.requests.fetch_sub(1, std::memory_order_relaxed); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  Edge& edge_;
};

}  // namespace

Connection::Connection(const Parts& parts, const ClientPeer& peer, ClientChannel::Use use)
    : parts_(parts),
      peer_(peer),
      use_(use),
      streams_(*this, parts.service, peer_, use),
      session_(streams_, OptionsOf(parts.limits)),
      outbox_(parts.loop, parts.socket, parts.limits.write_timeout,
              [this] {
                Flush();
                wake_.Notify();
              }),
      memory_(&parts.loop.edge().bodies, peer.account()),
      wake_(parts.loop.io()),
      deadline_(parts.loop.deadlines(), [this] { wake_.Notify(); }),
      idle_since_(Now()) {}

asio::awaitable<void> Connection::Serve(std::string begun) {
  parts_.loop.edge().telemetry->OnHttp2(Http2Event::kConnection);
  if (memory_.GrowTo(kConnectionBytes, parts_.limits.max_body_memory)) {
    if (use_ == ClientChannel::Use::kClient) parts_.loop.connections().SetNew(parts_.member, idle_since_);
    rest_ = std::move(begun);
    try {
      co_await Read();
      // NOLINTNEXTLINE(bugprone-empty-catch)
    } catch (const std::exception&) {  // This machine lacks memory. The streams must end before the connection does.
    }
  } else {
    parts_.loop.edge().telemetry->OnTurnedAway(TurnedAway::kBodyMemory);
    session_.GoAway(/*flood=*/true);
  }
  CountFault();
  Flush();
  streams_.LoseAll();
  while (!streams_.empty() || !outbox_.idle()) {
    RunDue();
    if (!streams_.empty() || !outbox_.idle()) co_await wake_.Wait();
  }
}

asio::awaitable<void> Connection::Read() {
  while (true) {
    RunDue();
    Flush();
    const bool over = state_.leaving && streams_.empty() && outbox_.idle();
    if (over || session_.fault() != Session::Fault::kNone || outbox_.failed() || !parts_.socket.open()) co_return;
    if (turn_.Step(Now())) {
      co_await LetOthersRun(parts_.loop.io());
      turn_.Restart(Now());
    }
    if (!rest_.empty() || session_.paused()) {
      const std::string rest = std::exchange(rest_, std::string());
      Take(rest);
      continue;
    }
    const Duration patience = Patience();
    if (patience <= Duration()) co_return;
    ClientSocket::ErrorCode ec;
    const size_t count = parts_.socket.ReadSome(asio::buffer(parts_.loop.scratch().data(), kRead), ec);
    if (!ec) {
      Take(absl::string_view(parts_.loop.scratch().data(), count));
      continue;
    }
    if (ec != asio::error::would_block) co_return;
    if (patience < Duration::Infinite()) deadline_.Arm(patience);
    parts_.socket.AwaitInput(*this);
    co_await wake_.Wait();
    deadline_.Disarm();
    turn_.Restart(Now());
  }
}

// A head has the time of a head. A connection without a request has that of an idle one, unless it is a spare one.
Duration Connection::Patience() const {
  const Instant now = Now();
  const bool hurry = use_ == ClientChannel::Use::kSpare;
  const Duration head = hurry ? std::min(kHurry, parts_.limits.header_timeout) : parts_.limits.header_timeout;
  if (session_.head_since() != Instant()) return head - (now - session_.head_since());
  if (!streams_.empty() || state_.leaving) return Duration::Infinite();
  return (state_.served && !hurry ? parts_.limits.idle_timeout : head) - (now - idle_since_);
}

void Connection::CountFault() {
  Telemetry& telemetry = *parts_.loop.edge().telemetry;
  if (session_.fault() == Session::Fault::kFlood) telemetry.OnBadInput(BadInput::kHttp2Flood);
  if (session_.fault() == Session::Fault::kMalformed && !streams_.malformed()) streams_.OnMalformed();
  if (session_.fault() != Session::Fault::kNone) return;
  if (parts_.socket.open() && (session_.head_since() != Instant() || streams_.HasPart())) {
    telemetry.OnBadInput(Patience() <= Duration() ? BadInput::kTooSlow : BadInput::kTruncated);
  }
  if (!state_.leaving) session_.GoAway(/*flood=*/false);
}

void Connection::Take(absl::string_view bytes) {
  state_.in_session = true;
  session_.Receive(bytes, Now());
  state_.in_session = false;
  if (session_.fault() == Session::Fault::kNone) rest_.assign(bytes.data(), bytes.size());
}

void Connection::Flush() {
  assert(!state_.in_session);
  bool more = true;
  while (more) {
    more = false;
    while (!outbox_.full()) {
      const absl::string_view bytes = session_.Output();
      if (bytes.empty()) break;
      outbox_.Add(bytes);
      more = true;
    }
    if (!outbox_.Write()) break;
  }
  if (outbox_.failed()) streams_.LoseAll();
}

void Connection::Leave() {
  if (std::exchange(state_.leaving, true)) return;
  session_.GoAway(/*flood=*/false);
  if (parts_.loop.edge().draining.load(std::memory_order_relaxed)) {
    streams_.RefuseParts(RefusedByDrain());
    // They count as requests from here on, so the drain waits for their answers.
    RunDue();
  }
  Flush();
  wake_.Notify();
}

void Connection::OnSocketClosed() {
  streams_.LoseAll();
  wake_.Notify();
}

void Connection::OnChange(StreamId stream) {
  due_.push_back(stream);
  if (!state_.in_session) wake_.Notify();
}

void Connection::RunDue() {
  if (state_.idle && !streams_.empty()) {
    state_.idle = false;
    state_.served = true;
    parts_.loop.connections().SetBusy(parts_.member);
  }
  while (!due_.empty()) {
    const std::vector<StreamId> due = std::exchange(due_, std::vector<StreamId>());
    for (const StreamId id : due) {
      const std::shared_ptr<Stream> stream = streams_.Share(id);
      if (stream == nullptr) continue;
      if (stream->TakeReady()) {
        asio::co_spawn(parts_.loop.io(), Answer(stream, id), asio::detached);
      } else if (stream->gone() && !stream->begun()) {
        Forget(id);
      } else {
        stream->TellGone();
      }
    }
  }
}

asio::awaitable<void> Connection::Answer(std::shared_ptr<Stream> stream, StreamId id) {
  co_await Handle(*stream);
  // A client that sends on must not keep a spare connection.
  const bool lingers = use_ != ClientChannel::Use::kSpare && stream->output().finished() && !stream->body().ended();
  if (lingers) co_await stream->body().Linger();
  stream->Finish();
  Forget(id);
}

asio::awaitable<void> Connection::Handle(Stream& stream) {
  const Counted counted(parts_.loop.edge());
  parts_.loop.edge().telemetry->OnHttp2(Http2Event::kRequest);
  try {
    const RequestHead& head = stream.head().head();
    StreamAnswer answer(parts_.loop, stream, head);
    if (stream.error()) {
      const ApiError error = *stream.error();
      co_await parts_.service.Refuse(stream, head, error, answer);
    } else {
      ClientRequest request = stream.body().TakeRequest(std::move(stream.head().head()));
      co_await parts_.service.Handle(stream, request, answer);
    }
    // NOLINTNEXTLINE(bugprone-empty-catch)
  } catch (const std::exception&) {  // This machine lacks memory: the stream ends without an answer.
  }
}

void Connection::Forget(StreamId stream) {
  streams_.Erase(stream);
  if (streams_.empty()) {
    state_.idle = true;
    idle_since_ = Now();
    if (use_ == ClientChannel::Use::kClient) parts_.loop.connections().SetIdle(parts_.member, idle_since_);
  }
  const bool spare = use_ == ClientChannel::Use::kSpare;
  if (spare || parts_.loop.edge().draining.load(std::memory_order_relaxed)) Leave();
  wake_.Notify();
}

}  // namespace penstock::http2
