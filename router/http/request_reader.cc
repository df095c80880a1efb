#include "router/http/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/optional.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace http = boost::beast::http;

namespace {

// A buffer larger than this is given back once it is empty.
constexpr size_t kKeptBuffer = 512;

// Of a body whose length was announced, what is made ready before any of it came.
constexpr uint64_t kMaxReserve = 4 << 20;

// Of a body's memory, what an idle connection keeps.
constexpr size_t kKeptBody = 2 << 10;

// Most heads have room in these.
constexpr size_t kUsualFields = 12;
constexpr size_t kUsualFieldBytes = 512;

// Of a head besides method, target and fields: "  HTTP/1.1\r\n" and the last line.
constexpr size_t kHeadFrame = 14;

// Bodies up to this size are bounded by the number of connections; larger ones take memory of the budget in pieces.
constexpr size_t kFreeBody = 16 << 10;
constexpr size_t kBudgetPiece = 64 << 10;

// The shortest last chunk with its end: "0", two line ends.
constexpr size_t kLastChunk = 5;

std::string ToString(boost::beast::string_view text) { return std::string(text.data(), text.size()); }

}  // namespace

// Beast's parser, writing into our own request instead of a container of fields.
struct RequestReader::Parser : http::basic_parser<true> {
  explicit Parser(const Limits& given) : limits(given) {
    if (limits.bodies != nullptr) request.memory = ByteShare(*limits.bodies);
  }

  const Limits limits;
  ClientRequest request;
  absl::string_view input;  // The argument of put().
  size_t head_bytes = 0;
  bool expects_continue = false;

 private:
  using StringView = boost::beast::string_view;
  using ErrorCode = boost::beast::error_code;

  void on_request_impl(http::verb, StringView method, StringView target, int version, ErrorCode&) override {
    request.method = ToString(method);
    request.target = ToString(target);
    request.http10 = version < 11;
    request.headers.Reserve(kUsualFields, kUsualFieldBytes);
    head_bytes = method.size() + target.size() + kHeadFrame;
  }
  void on_response_impl(int, StringView, int, ErrorCode&) override {}
  void on_field_impl(http::field field, StringView name, StringView value, ErrorCode& ec) override {
    if (is_header_done()) return;  // A trailer.
    if (!Acceptable(field, value)) {
      ec = http::error::bad_value;
      return;
    }
    head_bytes += name.size() + value.size() + 4;
    if (field == http::field::expect) expects_continue = absl::EqualsIgnoreCase(ToString(value), "100-continue");
    request.headers.Add(absl::string_view(name.data(), name.size()), absl::string_view(value.data(), value.size()));
  }
  void on_header_impl(ErrorCode& ec) override {
    if (hosts_ > 1 || (hosts_ == 0 && !request.http10)) ec = http::error::bad_field;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ErrorCode&) override {
    if (length) request.body.reserve(static_cast<size_t>(std::min<uint64_t>(*length, kMaxReserve)));
  }
  std::size_t on_body_impl(StringView piece, ErrorCode& ec) override { return Append(piece, ec); }
  void on_chunk_header_impl(std::uint64_t, StringView, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, StringView piece, ErrorCode& ec) override { return Append(piece, ec); }
  void on_finish_impl(ErrorCode&) override {}

  // Refuses fields that two recipients could read in two ways; the parser would let them pass.
  bool Acceptable(http::field field, StringView value) {
    // A folded line is put together elsewhere; every other value lies where it came.
    if (!value.empty() && (value.data() < input.data() || value.data() >= input.data() + input.size())) return false;
    if (field == http::field::host) ++hosts_;
    if (field == http::field::content_length) {
      return ++lengths_ == 1 && value.find_first_not_of("0123456789") == StringView::npos;
    }
    if (field != http::field::transfer_encoding) return true;
    return ++codings_ == 1 && !request.http10 && absl::EqualsIgnoreCase(ToString(value), "chunked");
  }

  std::size_t Append(StringView piece, ErrorCode& ec) {
    const size_t size = request.body.size() + piece.size();
    if (size > kFreeBody && static_cast<int64_t>(size) > request.memory.held().value()) {
      const size_t wanted = (size + kBudgetPiece - 1) / kBudgetPiece * kBudgetPiece;
      if (!request.memory.GrowTo(Bytes(static_cast<int64_t>(wanted)), limits.all_bodies)) {
        ec = http::error::buffer_overflow;
        return 0;
      }
    }
    request.body.append(piece.data(), piece.size());
    return piece.size();
  }

  int hosts_ = 0;
  int lengths_ = 0;
  int codings_ = 0;
};

RequestReader::RequestReader(const Limits& limits) : limits_(limits) {}
RequestReader::~RequestReader() = default;

void RequestReader::Append(absl::string_view bytes) {
  buffer_.erase(0, buffer_.size() - input_.size());
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
    if (buffer_.capacity() > kKeptBuffer) std::string().swap(buffer_);
  } else if (offered_) {
    buffer_.assign(input_.data(), input_.size());
    input_ = buffer_;
  }
  offered_ = false;
}

void RequestReader::Reuse(std::string body) {
  if (body.capacity() > kKeptBody) return;
  body.clear();
  spare_body_ = std::move(body);
}

// The parser may have taken the request line alone.
bool RequestReader::Idle() const { return !head_done_ && head_bytes_ == 0 && buffered() == 0; }

RequestReader::State RequestReader::Advance() {
  const State state = AdvanceInput();
  KeepInput();
  return state;
}

RequestReader::State RequestReader::AdvanceInput() {
  if (parser_ == nullptr) {
    parser_ = std::make_unique<Parser>(limits_);
    parser_->header_limit(static_cast<uint32_t>(limits_.header));
    parser_->body_limit(limits_.body);
    parser_->eager(true);
    parser_->request.body = std::move(spare_body_);
  }
  Parser& parser = *parser_;
  while (!parser.is_done()) {
    if (buffered() == 0) return State::kNeedMore;
    // Beast asserts that a last chunk that it saw the line of is whole in its frame when it looks again.
    if (cut_ && parser.is_header_done() && input_.size() < kLastChunk) return State::kNeedMore;
    boost::system::error_code ec;
    parser.input = input_;
    const size_t taken = parser.put(boost::asio::buffer(input_.data(), input_.size()), ec);
    cut_ = taken < input_.size();
    input_.remove_prefix(taken);
    // The parser bounds what it has not taken yet; many short fields are bounded here.
    if (!parser.is_header_done() && (head_bytes_ += taken) > limits_.header) return HeaderTooLarge();
    if (ec == http::error::need_more) return State::kNeedMore;
    if (ec) return HandleParseError(ec.value());
    if (!head_done_ && parser.is_header_done()) {
      head_done_ = true;
      if (parser.head_bytes > limits_.header) return HeaderTooLarge();
      expects_continue_ = parser.expects_continue;
      if (!parser.is_done()) return State::kHeadDone;
    }
  }
  return State::kDone;
}

RequestReader::State RequestReader::HandleParseError(int code) {
  const auto ec = http::make_error_code(static_cast<http::error>(code));
  if (ec == http::error::header_limit) return HeaderTooLarge();
  if (ec == http::error::body_limit) {
    return Fail(
        MakeError(ErrorName::kBodyTooLarge, absl::StrCat("The request body is larger than ", limits_.body, " bytes.")));
  }
  if (ec == http::error::buffer_overflow) return Fail(NoBodyMemory());
  return Fail(
      MakeError(ErrorName::kMalformedRequest, absl::StrCat("Not a well-formed HTTP/1.1 request: ", ec.message(), ".")));
}

RequestReader::State RequestReader::HeaderTooLarge() {
  return Fail(MakeError(ErrorName::kHeaderTooLarge,
                        absl::StrCat("The request head is larger than ", limits_.header, " bytes.")));
}

RequestReader::State RequestReader::Fail(ApiError error) {
  error_ = std::move(error);
  return State::kFailed;
}

ClientRequest RequestReader::Take() {
  ClientRequest request = std::move(parser_->request);
  request.keep_alive = parser_->keep_alive();
  parser_.reset();
  head_done_ = false;
  cut_ = false;
  head_bytes_ = 0;
  expects_continue_ = false;
  return request;
}

}  // namespace penstock
