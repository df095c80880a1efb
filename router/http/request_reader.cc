#include "router/http/request_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace http = boost::beast::http;

namespace {

// simdjson reads a little beyond the text; room for it saves a copy of the body.
constexpr size_t kBodyPadding = 64;
// A buffer larger than this is given back once it is empty.
constexpr size_t kKeptBuffer = 4096;

template <class Head>
size_t HeadBytes(const Head& head) {
  size_t bytes = head.method_string().size() + head.target().size();
  for (const auto& field : head) bytes += field.name_string().size() + field.value().size() + 4;
  return bytes;
}

std::string ToString(boost::beast::string_view text) { return std::string(text.data(), text.size()); }

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> http;
};

RequestReader::RequestReader(const Limits& limits) : limits_(limits) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;

void RequestReader::Append(absl::string_view bytes) { buffer_.append(bytes.data(), bytes.size()); }

bool RequestReader::Idle() const { return !head_done_ && buffered() == 0; }

RequestReader::State RequestReader::Advance() {
  if (parser_ == nullptr) {
    parser_ = std::make_unique<Parser>();
    parser_->http.header_limit(static_cast<uint32_t>(limits_.header));
    parser_->http.body_limit(limits_.body);
    parser_->http.eager(true);
  }
  auto& http = parser_->http;
  while (!http.is_done()) {
    if (buffered() == 0) return State::kNeedMore;
    boost::system::error_code ec;
    const size_t taken = http.put(boost::asio::buffer(buffer_.data() + consumed_, buffered()), ec);
    consumed_ += taken;
    // The parser bounds what it has not taken yet; many short fields are bounded here.
    if (!http.is_header_done() && (head_bytes_ += taken) > limits_.header) return HeaderTooLarge();
    if (ec == http::error::need_more) return State::kNeedMore;
    if (ec) return HandleParseError(ec.value());
    if (consumed_ == buffer_.size()) {
      buffer_.clear();
      consumed_ = 0;
      if (buffer_.capacity() > kKeptBuffer) buffer_.shrink_to_fit();
    }
    if (!head_done_ && http.is_header_done()) {
      head_done_ = true;
      if (HeadBytes(http.get()) > limits_.header) return HeaderTooLarge();
      expects_continue_ = absl::EqualsIgnoreCase(ToString(http.get()[http::field::expect]), "100-continue");
      if (!http.is_done()) return State::kHeadDone;
    }
  }
  return State::kDone;
}

RequestReader::State RequestReader::HandleParseError(int code) {
  const auto ec = http::make_error_code(static_cast<http::error>(code));
  if (ec == http::error::header_limit) return HeaderTooLarge();
  if (ec == http::error::body_limit) {
    ApiError error =
        BadRequest(BadInput::kBodyTooLarge, absl::StrCat("The request body is larger than ", limits_.body, " bytes."),
                   "", "body_too_large");
    error.status = 413;
    return Fail(std::move(error));
  }
  return Fail(BadRequest(BadInput::kMalformedHttp,
                         absl::StrCat("Not a well-formed HTTP/1.1 request: ", ec.message(), "."), "",
                         "malformed_request"));
}

RequestReader::State RequestReader::HeaderTooLarge() {
  ApiError error =
      BadRequest(BadInput::kHeaderTooLarge, absl::StrCat("The request head is larger than ", limits_.header, " bytes."),
                 "", "header_too_large");
  error.status = 431;
  return Fail(std::move(error));
}

RequestReader::State RequestReader::Fail(ApiError error) {
  error_ = std::move(error);
  return State::kFailed;
}

ClientRequest RequestReader::Take() {
  auto message = parser_->http.release();
  ClientRequest request;
  request.method = ToString(message.method_string());
  request.target = ToString(message.target());
  request.http10 = message.version() < 11;
  request.keep_alive = message.keep_alive();
  for (const auto& field : message)
    request.headers.emplace_back(ToString(field.name_string()), ToString(field.value()));
  request.body = std::move(message.body());
  request.body.reserve(request.body.size() + kBodyPadding);
  parser_.reset();
  buffer_.erase(0, consumed_);
  consumed_ = 0;
  head_done_ = false;
  head_bytes_ = 0;
  expects_continue_ = false;
  return request;
}

}  // namespace penstock
