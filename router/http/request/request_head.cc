#include "router/http/request/request_head.h"

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

// Room for the fields of a head that has not come whole. Most heads fit.
constexpr size_t kUsualFields = 12;
constexpr size_t kUsualFieldBytes = 512;

// Few fields have shorter lines.
constexpr size_t kLineOfField = 24;

constexpr absl::string_view kEndOfHead = "\r\n\r\n";

// Bytes that a head has besides method, target and fields: "  HTTP/1.1\r\n" and the last line.
constexpr size_t kHeadFrame = 14;

// Beast's codes for faults that it does not know.
constexpr http::error kTooManyFields = http::error::buffer_overflow;

std::string CopyOf(boost::beast::string_view text) { return std::string(text.data(), text.size()); }

}  // namespace

// Beast's parser, writing into our own head instead of a container of fields. It stops behind the head.
struct RequestHeadParser::Parser : http::basic_parser<true> {
  RequestHead head;
  absl::string_view input;  // The argument of put().
  size_t bytes = 0;

 private:
  using StringView = boost::beast::string_view;
  using ErrorCode = boost::beast::error_code;

  void on_request_impl(http::verb, StringView method, StringView target, int version, ErrorCode&) override {
    head.method = CopyOf(method);
    head.target = CopyOf(target);
    head.http10 = version < 11;
    ReserveFields(input.substr(static_cast<size_t>(target.data() - input.data()) + target.size()));
    bytes = method.size() + target.size() + kHeadFrame;
  }
  void on_response_impl(int, StringView, int, ErrorCode&) override {}
  void on_field_impl(http::field field, StringView name, StringView value, ErrorCode& ec) override {
    if (++fields_ > kMaxFields) {
      ec = kTooManyFields;
      return;
    }
    if (!Acceptable(field, name, value)) {
      ec = http::error::bad_value;
      return;
    }
    if (field == http::field::connection && connection_names_ > kMaxConnectionNames) {
      ec = kTooManyFields;
      return;
    }
    bytes += name.size() + value.size() + 4;
    if (field == http::field::expect) head.expects_continue = absl::EqualsIgnoreCase(CopyOf(value), "100-continue");
    head.headers.Add(absl::string_view(name.data(), name.size()), absl::string_view(value.data(), value.size()));
  }
  void on_header_impl(ErrorCode& ec) override {
    if (hosts_ > 1 || (hosts_ == 0 && !head.http10)) ec = http::error::bad_field;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(StringView, ErrorCode&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, StringView, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, StringView, ErrorCode&) override { return 0; }
  void on_finish_impl(ErrorCode&) override {}

  // The fields stay as long as their request. A head that came whole gets the room that it needs.
  void ReserveFields(absl::string_view after_target) {
    const size_t end = after_target.find(kEndOfHead);
    if (end == absl::string_view::npos) return head.headers.Reserve(kUsualFields, kUsualFieldBytes);
    head.headers.Reserve(std::min<size_t>(kMaxFields, 2 + end / kLineOfField), end);
  }

  // Refuses fields that two recipients could read in two ways; the parser would let them pass.
  bool Acceptable(http::field field, StringView name, StringView value) {
    // A folded line is put together elsewhere; every other value lies where it came.
    if (!value.empty() && (value.data() < input.data() || value.data() >= input.data() + input.size())) return false;
    switch (field) {
      case http::field::host:
        ++hosts_;
        return true;
      case http::field::content_type:
        return ++types_ == 1;
      case http::field::authorization:
        return ++keys_ == 1;
      case http::field::content_encoding:
        return ++encodings_ == 1;
      case http::field::connection:
        connection_names_ += 1 + static_cast<int>(std::count(value.begin(), value.end(), ','));
        return true;
      case http::field::content_length:
        return ++lengths_ == 1 && value.find_first_not_of("0123456789") == StringView::npos;
      case http::field::transfer_encoding:
        return ++codings_ == 1 && !head.http10 && absl::EqualsIgnoreCase(CopyOf(value), "chunked");
      default:
        return !absl::EqualsIgnoreCase(absl::string_view(name.data(), name.size()), "x-api-key") || ++api_keys_ == 1;
    }
  }

  int fields_ = 0;
  int hosts_ = 0;
  int types_ = 0;
  int keys_ = 0;
  int api_keys_ = 0;
  int lengths_ = 0;
  int codings_ = 0;
  int encodings_ = 0;
  int connection_names_ = 0;
};

RequestHeadParser::RequestHeadParser(size_t max_bytes) : max_bytes_(max_bytes), parser_(std::make_unique<Parser>()) {
  parser_->header_limit(static_cast<uint32_t>(max_bytes));
  parser_->body_limit(boost::none);
}

RequestHeadParser::~RequestHeadParser() = default;

size_t RequestHeadParser::Put(absl::string_view input) {
  if (input.empty()) return 0;
  Parser& parser = *parser_;
  boost::system::error_code ec;
  parser.input = input;
  const size_t taken = parser.put(boost::asio::buffer(input.data(), input.size()), ec);
  taken_ += taken;
  // The parser bounds the bytes that it has not taken yet; many short fields are bounded here.
  if (ec && ec != http::error::need_more) {
    Fail(Translate(ec.value()));
  } else if (parser.bytes > max_bytes_ || (!done() && taken_ > max_bytes_)) {
    Fail(
        MakeError(ErrorName::kHeaderTooLarge, absl::StrCat("The request head is larger than ", max_bytes_, " bytes.")));
  } else if (done()) {
    RequestHead& head = parser.head;
    head.keep_alive = parser.keep_alive();
    head.chunked = parser.chunked();
    if (const auto length = parser.content_length()) head.length = *length;
  }
  return taken;
}

bool RequestHeadParser::done() const { return parser_->is_header_done(); }

RequestHead& RequestHeadParser::head() { return parser_->head; }
const RequestHead& RequestHeadParser::head() const { return parser_->head; }

void RequestHeadParser::Fail(ApiError error) { error_ = std::make_unique<const ApiError>(std::move(error)); }

ApiError RequestHeadParser::Translate(int code) const {
  const auto ec = http::make_error_code(static_cast<http::error>(code));
  if (ec == http::error::header_limit) {
    return MakeError(ErrorName::kHeaderTooLarge,
                     absl::StrCat("The request head is larger than ", max_bytes_, " bytes."));
  }
  if (ec == kTooManyFields) {
    return MakeError(ErrorName::kHeaderTooLarge,
                     absl::StrCat("The request head has more than ", kMaxFields, " fields, or more than ",
                                  kMaxConnectionNames, " names in Connection."));
  }
  return MakeError(ErrorName::kMalformedRequest,
                   absl::StrCat("Not a well-formed HTTP/1.1 request: ", ec.message(), "."));
}

}  // namespace penstock
