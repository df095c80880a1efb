// The response parser of Beast, with the body as a view instead of a copy.
//
// One Put of the parser may find several pieces of body, because several chunks may lie in one read. A single piece
// stays where it is, in the memory that was parsed. Several pieces are joined in one buffer of the thread. Owned by one
// exchange; used on its loop only. A status below 100, a chunk without bounds, and a coding other than chunks are
// faults.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_RESPONSE_PARSER_H_
#define PENSTOCK_BACKENDS_TRANSPORT_RESPONSE_PARSER_H_

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/optional.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/transport/upstream.h"

namespace penstock {

class ResponseParser : public boost::beast::http::basic_parser<false> {
 public:
  explicit ResponseParser(uint32_t head_limit) {
    eager(true);
    header_limit(head_limit);
    body_limit(boost::none);
  }

  // Parses the input that is not consumed yet, and returns the bytes that it consumed. The rest has to come again, with
  // more behind it. need_more, or the fault that makes the answer no HTTP.
  std::size_t Parse(absl::string_view input, boost::beast::error_code& error) {
    // Beast asserts that a last chunk is whole in its frame when it sees the chunk's line for the second time.
    if (cut_ && is_header_done() && input.size() < kLastChunk) {
      error = boost::beast::http::error::need_more;
      return 0;
    }
    const std::size_t used = put(boost::asio::const_buffer(input.data(), input.size()), error);
    cut_ = used < input.size();
    return used;
  }

  UpstreamHead& head() { return head_; }
  // The body since the last DropBody(). Valid until the parsed memory is reused, another exchange of the thread is
  // parsed, or the exchange ends.
  absl::string_view body() const { return body_; }
  void DropBody() { body_ = {}; }
  // Copies the body, so that it stays valid until FreeBody().
  void KeepBody() {
    if (body_.empty()) return;
    kept_.assign(body_.data(), body_.size());
    body_ = kept_;
  }

  // Frees the copy, unless it is still to be taken.
  void FreeBody() {
    if (body_.empty() && !kept_.empty()) std::string().swap(kept_);
  }

 private:
  using StringView = boost::beast::string_view;
  using ErrorCode = boost::beast::error_code;
  using Field = boost::beast::http::field;
  static constexpr std::size_t kLastChunk = 5;  // "0" and two line ends.
  static constexpr int kLeastStatus = 100;
  static constexpr std::size_t kUsualFields = 8;
  static constexpr std::size_t kUsualFieldBytes = 256;
  static constexpr std::uint64_t kMaxChunk = std::uint64_t{1} << 40;  // No engine sends so much in one piece.

  void on_request_impl(boost::beast::http::verb, StringView, StringView, int, ErrorCode&) override {}
  void on_response_impl(int status, StringView, int, ErrorCode& error) override {
    head_.status = status;
    head_.headers.Reserve(kUsualFields, kUsualFieldBytes);
    if (status < kLeastStatus) error = boost::beast::http::error::bad_status;
  }
  void on_field_impl(Field field, StringView name, StringView value, ErrorCode& error) override {
    if (is_header_done()) return;
    head_.headers.Add(View(name), View(value));
    const bool framing = field == Field::transfer_encoding;
    if (!framing && field != Field::content_encoding) return;
    // No other coding was asked for.
    const bool plain = value.empty() || boost::beast::iequals(value, framing ? "chunked" : "identity");
    if (!plain) error = boost::beast::http::error::bad_transfer_encoding;
  }
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(StringView piece, ErrorCode&) override { return Add(piece); }
  void on_chunk_header_impl(std::uint64_t size, StringView, ErrorCode& error) override {
    if (size > kMaxChunk) error = boost::beast::http::error::bad_chunk;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, StringView piece, ErrorCode&) override { return Add(piece); }
  void on_finish_impl(ErrorCode&) override {}

  static absl::string_view View(StringView text) { return absl::string_view(text.data(), text.size()); }

  std::size_t Add(StringView piece) {
    if (body_.empty()) {
      body_ = View(piece);
      return piece.size();
    }
    static thread_local std::string joined;
    if (body_.data() != joined.data()) joined.assign(body_.data(), body_.size());
    joined.append(piece.data(), piece.size());
    body_ = joined;
    return piece.size();
  }

  UpstreamHead head_;
  absl::string_view body_;
  std::string kept_;
  bool cut_ = false;  // The last input was not consumed whole.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_RESPONSE_PARSER_H_
