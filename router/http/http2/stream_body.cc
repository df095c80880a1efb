#include "router/http/http2/stream_body.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "router/http/socket/drain_watch.h"

namespace penstock::http2 {
namespace asio = boost::asio;

namespace {

constexpr size_t kFirstBlock = 64 << 10;
constexpr size_t kGrowth = 4;
// A client whose answer is whole, and that sends nothing of its body for so long, gets a reset.
constexpr Duration kLinger = Duration::Seconds(1);

Bytes Size(size_t bytes) { return Bytes(static_cast<int64_t>(bytes)); }

}  // namespace

StreamBody::StreamBody(StreamHost& host, StreamId stream)
    : host_(host),
      stream_(stream),
      limits_(host.limits()),
      arrived_(host.loop().io()),
      deadline_(host.loop().deadlines(), [this] { OnDeadline(); }) {}

bool StreamBody::HoldHead(uint64_t caller, size_t bytes) {
  if (request_.memory.held() == Bytes(0)) request_.memory = FairShare(&host_.loop().edge().bodies, caller);
  return request_.memory.GrowTo(Size(bytes), limits_.max_body_memory);
}

bool StreamBody::Expect(const Expected& expected) {
  expected_ = expected;
  began_ = Now();
  request_.memory = FairShare(&host_.loop().edge().bodies, expected.caller);
  const bool held = request_.memory.GrowTo(Size(expected.head), limits_.max_body_memory);
  if (expected.length.value_or(0) > expected.bound.most) {
    Fail(TooLarge());
  } else if (!held) {
    Fail(NoBodyMemory());
  } else if (expected.use == BodyUse::kStored) {
    if (expected.asks) host_.session().Continue(stream_);
    ArmDeadline();
  }
  return held;
}

// The slowest of three: no byte for a while, all of it, and the least rate.
void StreamBody::ArmDeadline() {
  const Instant now = Now();
  const Duration spent = now - began_;
  const Duration at_rate = TimeLeftAtRate(limits_.min_body_rate, limits_.body_timeout, taken_, spent);
  const Duration left = std::min({limits_.body_timeout, limits_.max_body_time - spent, at_rate});
  deadline_.Arm(std::max(left, Duration()), now);
}

ApiError StreamBody::TooLarge() const {
  return MakeError(ErrorName::kBodyTooLarge,
                   absl::StrCat("The request body is larger than ", expected_.bound.named, " bytes."));
}

void StreamBody::OnDeadline() { Fail(MakeError(ErrorName::kRequestTimeout, "The request did not arrive in time.")); }

void StreamBody::Fail(ApiError error) {
  if (failed_) return;
  failed_ = std::move(error);
  deadline_.Disarm();
  if (expected_.use == BodyUse::kPieces) Drop(request_.body.size());
  request_.body = BodyBuffer();
  request_.memory.ShrinkTo(Size(expected_.head));
  arrived_.Notify();
  host_.OnChange(stream_);
}

// Some clients read no answer before they have sent their body, so their window stays open.
void StreamBody::Drop(size_t bytes) {
  dropped_ += bytes;
  host_.session().ConsumeStream(stream_, bytes);
}

// Bytes that nobody reads do not hold up the other streams.
void StreamBody::Take(absl::string_view bytes) {
  host_.session().ConsumeConnection(bytes.size());
  if (gone_) return;
  if (expected_.use == BodyUse::kDropped || failed_) return Drop(bytes.size());
  taken_ += bytes.size();
  const bool allowed = taken_ <= expected_.bound.most;
  if (!allowed || !Store(bytes)) {
    Drop(bytes.size());
    return Fail(allowed ? NoBodyMemory() : TooLarge());
  }
  if (expected_.use == BodyUse::kPieces) return arrived_.Notify();
  host_.session().ConsumeStream(stream_, bytes.size());
  ArmDeadline();
}

bool StreamBody::Store(absl::string_view bytes) {
  BodyBuffer& body = request_.body;
  const size_t size = body.size() + bytes.size();
  if (size > body.capacity()) {
    size_t wanted = std::max({size, kFirstBlock, kGrowth * body.capacity()});
    wanted = std::min<size_t>(wanted, std::max<size_t>(size, expected_.bound.most));
    if (expected_.length && expected_.use == BodyUse::kStored) wanted = std::min<size_t>(wanted, *expected_.length);
    wanted = std::max(wanted, size);
    if (!request_.memory.GrowTo(Size(expected_.head + piece_.capacity() + wanted), limits_.max_body_memory)) {
      return false;
    }
    body.Reserve(wanted);
  }
  body.Append(bytes);
  return true;
}

void StreamBody::End() {
  ended_ = true;
  deadline_.Disarm();
  arrived_.Notify();
  host_.OnChange(stream_);
}

void StreamBody::Leave() {
  gone_ = true;
  deadline_.Disarm();
  arrived_.Notify();
}

asio::awaitable<void> StreamBody::Linger() {
  if (std::exchange(expected_.use, BodyUse::kDropped) == BodyUse::kPieces) Drop(request_.body.size());
  request_.body = BodyBuffer();
  host_.Flush();
  bool silent = false;
  CoarseDeadline deadline(host_.loop().deadlines(), [this, &silent] {
    silent = true;
    arrived_.Notify();
  });
  const Edge& edge = host_.loop().edge();
  const Instant latest = began_ + limits_.max_body_time;
  uint64_t before = dropped_;
  deadline.Arm(kLinger);
  while (!ended_ && !gone_ && !edge.draining.load(std::memory_order_relaxed)) {
    if (std::exchange(silent, false)) {
      if (std::exchange(before, dropped_) == dropped_ || Now() >= latest) break;
      deadline.Arm(kLinger);
    }
    co_await arrived_.Wait();
  }
}

ClientRequest StreamBody::TakeRequest(RequestHead head) {
  ClientRequest request;
  static_cast<RequestHead&>(request) = std::move(head);
  if (expected_.use != BodyUse::kPieces) {
    request.body = std::move(request_.body);
    request.memory = std::move(request_.memory);
  }
  return request;
}

void StreamBody::Begin() {
  if (!expected_.asks || expected_.use != BodyUse::kPieces || ended_) return;
  host_.session().Continue(stream_);
  host_.Flush();
}

asio::awaitable<BodyPiece> StreamBody::Next() {
  BodyPiece piece;
  piece_.Clear();
  while (request_.body.size() == 0 && !ended_ && !failed_ && !gone_) {
    ArmDeadline();
    co_await arrived_.Wait();
    deadline_.Disarm();
  }
  if (gone_) {
    piece.state = BodyPiece::State::kGone;
  } else if (failed_) {
    piece.state = BodyPiece::State::kFailed;
    piece.error = *failed_;
  } else if (request_.body.size() > 0) {
    std::swap(piece_, request_.body);
    piece.state = BodyPiece::State::kBytes;
    piece.bytes = piece_.view();
    host_.session().ConsumeStream(stream_, piece.bytes.size());
    host_.Flush();
  }
  co_return piece;
}

}  // namespace penstock::http2
