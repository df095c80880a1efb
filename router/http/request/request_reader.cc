#include "router/http/request/request_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// A buffer larger than this is given back once it is empty.
constexpr size_t kKeptBuffer = 512;

// Bytes of body memory that an idle connection keeps.
constexpr size_t kKeptBody = 2 << 10;

// A body whose length is known and no larger comes into a block of its size. Others grow by this factor.
constexpr size_t kFirstBlock = 64 << 10;
constexpr size_t kGrowth = 4;
constexpr size_t kGrowthOfChunks = 2;

constexpr absl::string_view kEmptyLine = "\r\n";

// The parser reads no line before it has the whole head.
std::string TargetOf(const std::optional<RequestHeadParser>& head, absl::string_view input) {
  if (head && !head->head().target.empty()) return head->head().target;
  const absl::string_view line = input.substr(0, input.find_first_of("\r\n"));
  const size_t begin = line.find(' ');
  if (line.size() == input.size() || begin == absl::string_view::npos) return "";
  const absl::string_view target = line.substr(begin + 1);
  return std::string(target.substr(0, target.find(' ')));
}

}  // namespace

RequestReader::RequestReader(const Limits& limits) : limits_(limits) { SetPeer(limits.peer); }

void RequestReader::SetPeer(uint64_t peer) {
  limits_.peer = peer;
  buffer_memory_ = FairShare(limits_.memory, peer);
  request_.memory = FairShare(limits_.memory, peer);
}

bool RequestReader::HoldRequest(size_t body) {
  const size_t size = head_bytes_ + body;
  return size <= kFreeBytes || request_.memory.GrowTo(Bytes(static_cast<int64_t>(size)), limits_.all_memory);
}

void RequestReader::SetCaller(uint64_t caller) {
  request_.memory = FairShare(limits_.memory, caller);
  if (!HoldRequest(request_.body.capacity())) Fail(NoBodyMemory());
}

// The budget knows the larger buffer before it is made.
bool RequestReader::HoldBuffer(size_t size) {
  if (size <= buffer_.capacity()) return true;
  const size_t wanted = std::max(size, 2 * buffer_.capacity());
  if (wanted > kFreeBytes && !buffer_memory_.GrowTo(Bytes(static_cast<int64_t>(wanted)), limits_.all_memory)) {
    Fail(NoBodyMemory());
    return false;
  }
  buffer_.reserve(wanted);
  return true;
}

void RequestReader::Append(absl::string_view bytes) {
  if (error_) return;
  buffer_.erase(0, buffer_.size() - input_.size());
  input_ = buffer_;
  if (!HoldBuffer(buffer_.size() + bytes.size())) return;
  buffer_.append(bytes.data(), bytes.size());
  input_ = buffer_;
}

void RequestReader::Offer(absl::string_view bytes) {
  if (!input_.empty()) return Append(bytes);
  input_ = bytes;
  offered_ = true;
}

// Copies the rest of an offer into the buffer, and frees a large buffer once it is empty.
void RequestReader::KeepInput() {
  if (input_.empty()) {
    buffer_.clear();
    if (buffer_.capacity() > kKeptBuffer) {
      std::string().swap(buffer_);
      buffer_memory_.Release();
    }
  } else if (offered_) {
    const absl::string_view rest = input_;
    buffer_.clear();
    input_ = buffer_;
    if (HoldBuffer(rest.size())) buffer_.assign(rest.data(), rest.size());
    input_ = buffer_;
  }
  offered_ = false;
}

void RequestReader::UseBody(BodyUse use) {
  body_use_ = use;
  if (use != BodyUse::kStored) KeepInput();
}

void RequestReader::Reuse(BodyBuffer body) {
  if (body.capacity() > kKeptBody) return;
  body.Clear();
  spare_body_ = std::move(body);
}

// The parser may have taken the request line alone.
bool RequestReader::Idle() const { return !in_body_ && unread().empty() && !(head_ && head_->begun()); }

RequestReader::State RequestReader::Advance() {
  if (error_) {
    KeepInput();
    return State::kFailed;
  }
  const State state = AdvanceInput();
  if (state != State::kHeadDone) KeepInput();
  return error_ ? State::kFailed : state;
}

// Some clients send empty lines behind a body. True: the head may follow.
bool RequestReader::TakeEmptyLines() {
  if (head_ && head_->begun()) return true;
  while (empty_lines_ < kMaxEmptyLines && absl::StartsWith(input_, kEmptyLine)) {
    input_.remove_prefix(kEmptyLine.size());
    ++empty_lines_;
  }
  return empty_lines_ == kMaxEmptyLines || input_ != kEmptyLine.substr(0, 1);
}

RequestReader::State RequestReader::AdvanceInput() {
  if (in_body_) return ReadBody();
  if (!TakeEmptyLines() || input_.empty()) return State::kNeedMore;
  if (!head_) head_.emplace(limits_.header);
  const size_t taken = head_->Put(input_);
  input_.remove_prefix(taken);
  head_bytes_ += taken;
  if (head_->error()) return Fail(*head_->error());
  if (!HoldRequest(0)) return Fail(NoBodyMemory());
  return head_->done() ? BeginBody() : State::kNeedMore;
}

// A small body that came with its head needs no look at the head alone.
RequestReader::State RequestReader::BeginBody() {
  static_cast<RequestHead&>(request_) = std::move(head_->head());
  head_.reset();
  in_body_ = true;
  request_.body = std::move(spare_body_);
  if (limits_.body_of) limits_.body = limits_.body_of(request_);
  const BodyFraming::Limits limits{limits_.body.most, limits_.header};
  framing_ =
      request_.chunked ? BodyFraming::InChunks(limits) : BodyFraming::OfLength(request_.length.value_or(0), limits);
  if (framing_.fault() != BodyFraming::Fault::kNone) return FailBody();
  const bool is_here = !request_.chunked && framing_.announced() <= std::min<uint64_t>(unread().size(), kFreeBytes);
  return is_here ? ReadBody() : State::kHeadDone;
}

RequestReader::State RequestReader::ReadBody() {
  const bool in_pieces = body_use_ == BodyUse::kPieces;
  // The piece that was given last.
  if (in_pieces && request_.body.size() >= kPiece) request_.body.Clear();
  while (true) {
    const absl::string_view piece = framing_.Next(input_);
    if (piece.empty()) break;
    body_taken_ += piece.size();
    if (body_use_ != BodyUse::kDropped && !Store(piece)) return Fail(NoBodyMemory());
  }
  if (framing_.fault() != BodyFraming::Fault::kNone) return FailBody();
  if (framing_.done()) return State::kDone;
  return in_pieces && request_.body.size() >= kPiece ? State::kPiece : State::kNeedMore;
}

bool RequestReader::Store(absl::string_view piece) {
  BodyBuffer& body = request_.body;
  const size_t size = body.size() + piece.size();
  if (size > body.capacity()) {
    const size_t announced = size + static_cast<size_t>(framing_.announced());
    size_t wanted = std::max({size, kFirstBlock, kGrowth * body.capacity()});
    if (request_.chunked) wanted = std::max(size, kGrowthOfChunks * body.capacity());
    if (!request_.chunked) wanted = std::min(wanted, announced);
    if (!HoldRequest(wanted)) return false;
    body.Reserve(wanted);
  }
  body.Append(piece);
  return true;
}

RequestReader::State RequestReader::FailBody() {
  switch (framing_.fault()) {
    case BodyFraming::Fault::kBodyTooLarge:
      return Fail(MakeError(ErrorName::kBodyTooLarge,
                            absl::StrCat("The request body is larger than ", limits_.body.named, " bytes.")));
    case BodyFraming::Fault::kTrailersTooLarge:
      return Fail(MakeError(ErrorName::kHeaderTooLarge,
                            absl::StrCat("The trailers are larger than ", limits_.header, " bytes.")));
    case BodyFraming::Fault::kLineTooLong:
    case BodyFraming::Fault::kExcess:
      return Fail(MakeError(ErrorName::kMalformedRequest,
                            absl::StrCat("A chunk's line is longer than ", BodyFraming::kMaxChunkLine,
                                         " bytes, or the chunks are small and their lines are long.")));
    case BodyFraming::Fault::kMalformed:
    case BodyFraming::Fault::kNone:
      break;
  }
  return Fail(MakeError(ErrorName::kMalformedRequest, "Not a well-formed HTTP/1.1 request: bad chunk."));
}

// Nothing behind a fault can be believed, so the rest is dropped.
RequestReader::State RequestReader::Fail(ApiError error) {
  error_ = std::make_unique<const ApiError>(std::move(error));
  if (request_.target.empty()) request_.target = TargetOf(head_, input_);
  input_ = absl::string_view();
  return State::kFailed;
}

const ClientRequest& RequestReader::head() {
  if (request_.target.empty()) request_.target = TargetOf(head_, input_);
  return request_;
}

ClientRequest RequestReader::Take() {
  if (offered_) input_ = absl::string_view();
  offered_ = false;
  in_body_ = false;
  body_use_ = BodyUse::kStored;
  empty_lines_ = 0;
  body_taken_ = 0;
  head_bytes_ = 0;
  ClientRequest request = std::exchange(request_, ClientRequest());
  request_.memory = FairShare(limits_.memory, limits_.peer);
  return request;
}

}  // namespace penstock
