// Beast's response parser, with the body handed out as views into the connection's input instead of copies.
//
// The pieces of body that one Put() finds (several chunks may lie in one read) are moved together inside the input,
// over chunk frames that are already parsed, so body() is one contiguous view; a read with a single chunk moves
// nothing.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_RESPONSE_PARSER_H_
#define PENSTOCK_BACKENDS_TRANSPORT_RESPONSE_PARSER_H_

#include <boost/beast/http/basic_parser.hpp>
#include <boost/optional.hpp>
#include <cstring>
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

  UpstreamHead& head() { return head_; }
  // Found since the last DropBody; lies in the memory that was parsed.
  absl::string_view body() const { return absl::string_view(body_, body_size_); }
  void DropBody() { body_size_ = 0; }
  // What was found stays although the parsed memory is used for something else.
  void KeepBody() {
    if (body_size_ == 0) return;
    kept_.assign(body_, body_size_);
    body_ = kept_.data();
  }

 private:
  using StringView = boost::beast::string_view;
  using ErrorCode = boost::beast::error_code;

  void on_request_impl(boost::beast::http::verb, StringView, StringView, int, ErrorCode&) override {}
  void on_response_impl(int status, StringView, int, ErrorCode&) override { head_.status = status; }
  void on_field_impl(boost::beast::http::field, StringView name, StringView value, ErrorCode&) override {
    if (!is_header_done()) head_.headers.Add(View(name), View(value));
  }
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(StringView piece, ErrorCode&) override { return Join(piece); }
  void on_chunk_header_impl(std::uint64_t, StringView, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, StringView piece, ErrorCode&) override { return Join(piece); }
  void on_finish_impl(ErrorCode&) override {}

  static absl::string_view View(StringView text) { return absl::string_view(text.data(), text.size()); }

  std::size_t Join(StringView piece) {
    if (body_size_ == 0) {
      body_ = const_cast<char*>(piece.data());  // The input buffer is ours and mutable; Beast only sees it as const.
    } else {
      std::memmove(body_ + body_size_, piece.data(), piece.size());
    }
    body_size_ += piece.size();
    return piece.size();
  }

  UpstreamHead head_;
  char* body_ = nullptr;
  size_t body_size_ = 0;
  std::string kept_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_RESPONSE_PARSER_H_
