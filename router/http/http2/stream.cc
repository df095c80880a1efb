#include "router/http/http2/stream.h"

#include <utility>

#include "base/clock.h"

namespace penstock::http2 {
namespace asio = boost::asio;

namespace {

// A head that is still coming is counted above so many bytes. A connection has one of them at a time.
constexpr size_t kFreeHead = 4 << 10;

}  // namespace

Stream::Stream(StreamHost& host, StreamId id, const ClientPeer& peer, Use use, FairShare memory)
    : ClientChannel(peer, use),
      host_(host),
      id_(id),
      memory_(std::move(memory)),
      head_(static_cast<size_t>(host.limits().max_header.value())),
      body_(host, id),
      drain_(host.limits()),
      deadline_(host.loop().deadlines(), [this] { OnSlow(); }),
      sent_(host.loop().io()) {
  drain_.BeginAnswer();
}

// Trailers have no meaning here, but a size. The handler of an upload reads the body only.
void Stream::TakeField(absl::string_view name, absl::string_view value) {
  if (!head_ended_) {
    head_.Add(name, value);
    const size_t held = head_.held();
    if (held > kFreeHead && !body_.HoldHead(peer().account(), held)) head_.Refuse(NoBodyMemory());
    return;
  }
  if (begun_) return;
  head_.AddTrailer(name, value);
  if (head_.error()) host_.OnChange(id_);
}

// A request that is refused whatever its body says gets its answer at once, and the body is dropped.
void Stream::EndHead(RequestService& service, bool ended) {
  head_.End();
  head_ended_ = true;
  const RequestHead& head = head_.head();
  StreamBody::Expected expected;
  expected.caller = peer().account();
  expected.head = head_.held();
  if (!head_.error()) {
    const std::optional<uint64_t> caller = service.CallerOfBody(*this, head);
    in_pieces_ = caller && service.TakesPieces(head);
    if (caller) expected.use = in_pieces_ ? BodyUse::kPieces : BodyUse::kStored;
    expected.caller = caller.value_or(expected.caller);
    expected.bound = service.LargestBody(head);
    expected.length = head.length;
    expected.asks = head.expects_continue && !ended;
  }
  if (!body_.Expect(expected)) head_.Shorten();
  if (ended) body_.End();
  host_.OnChange(id_);
}

bool Stream::TakeReady() {
  if (begun_ || !head_ended_ || gone_) return false;
  begun_ = body_.ended() || error() || in_pieces_ || !body_.wanted();
  return begun_;
}

void Stream::OnClosed() {
  closed_ = true;
  if (gone_) return;
  if (output_.finished()) return body_.Leave();
  host_.loop().edge().telemetry->OnHttp2(Http2Event::kReset);
  MarkGone();
}

void Stream::MarkGone() {
  if (std::exchange(gone_, true)) return;
  output_.Clear();
  body_.Leave();
  deadline_.Disarm();
  sent_.Notify();
  host_.OnChange(id_);
}

void Stream::TellGone() {
  if (!gone_) return;
  if (auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

void Stream::Watch(std::function<void()> on_gone) {
  on_gone_ = std::move(on_gone);
  TellGone();
}

void Stream::SendHead(int status, const HeaderList& headers, bool ended) {
  if (gone_) return;
  if (ended) output_.EndWithHead();
  CountWritten(headers.bytes());
  host_.session().Answer(id_, status, headers, ended);
}

Written Stream::Send() {
  if (!gone_) {
    host_.session().Resume(id_);
    host_.Flush();
  }
  if (gone_) return Written::kGone;
  return output_.empty() ? Written::kAll : Written::kPart;
}

size_t Stream::Take(std::span<uint8_t> into, bool& ended) {
  const size_t taken = output_.Take(into, ended);
  CountWritten(taken);
  if (taken > 0 && output_.empty()) sent_.Notify();
  return taken;
}

asio::awaitable<bool> Stream::Drain() {
  while (!gone_ && !output_.empty()) {
    const size_t before = output_.size();
    if (host_.loop().edge().draining.load(std::memory_order_relaxed)) drain_.Hurry(Now());
    const Duration longest = drain_.BeginWait(Now(), Waiting());
    if (longest <= Duration()) {
      OnSlow();
      break;
    }
    deadline_.Arm(longest);
    co_await sent_.Wait();
    deadline_.Disarm();
    drain_.EndWait(Now(), before - output_.size());
  }
  co_return !gone_;
}

void Stream::Hurry() {
  body_.Hurry();
  if (const auto left = drain_.Hurry(Now())) deadline_.Arm(*left);
}

// A wait goes on where the client took bytes meanwhile.
void Stream::OnSlow() {
  const Duration longest = drain_.GoOn(Now(), Waiting());
  if (longest > Duration()) return deadline_.Arm(longest);
  if (drain_.hurried()) host_.loop().edge().cut.fetch_add(1, std::memory_order_relaxed);
  host_.session().Abort(id_);
  MarkGone();
  host_.Flush();
}

void Stream::Finish() {
  on_gone_ = nullptr;
  const bool complete = output_.finished();
  output_.Clear();
  if (closed_ || gone_) return;
  if (!complete) {
    host_.session().Abort(id_);
  } else if (!body_.ended()) {
    host_.session().Drop(id_);
  }
  host_.Flush();
}

}  // namespace penstock::http2
