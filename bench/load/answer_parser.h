// The final answer of one exchange, parsed as its bytes arrive. Interim answers (1xx) before it are dropped.
//
// Owned by an exchange; used by its thread only. An endpoint may send 16 interim answers; more, or a switch of
// protocols, are faults.
#ifndef PENSTOCK_BENCH_LOAD_ANSWER_PARSER_H_
#define PENSTOCK_BENCH_LOAD_ANSWER_PARSER_H_

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/optional.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock::bench {

template <class Body>
class AnswerParser {
 public:
  using Parser = boost::beast::http::response_parser<Body>;

  // `body` is the body's value at the start.
  AnswerParser(boost::optional<std::uint64_t> body_limit, typename Body::value_type body)
      : body_limit_(body_limit), body_(std::move(body)) {
    Renew();
  }

  // The final answer, or the part of it that has arrived.
  Parser& parser() { return *parser_; }
  const Parser& parser() const { return *parser_; }
  bool is_done() const { return parser_->is_done(); }

  // Takes what is whole from the buffer. InvalidArgument: the answer is no HTTP, or has no end of interim answers.
  absl::Status Feed(boost::beast::flat_buffer& buffer) {
    while (buffer.size() > 0 && !parser_->is_done() && !(cut_ && buffer.size() < kLastChunk)) {
      boost::system::error_code error;
      const std::size_t given = buffer.size();
      const std::size_t used = parser_->put(buffer.data(), error);
      buffer.consume(used);
      cut_ = used < given;
      if (error && error != boost::beast::http::error::need_more) return absl::InvalidArgumentError(error.message());
      if (absl::Status interim = DropInterim(); !interim.ok()) return interim;
      if (error || used == 0) break;
    }
    return absl::OkStatus();
  }

 private:
  // Beast asserts that a last chunk is whole in its frame when it sees the chunk's line for the second time. So input
  // that its parser has left waits for so many bytes: "0" and two line ends.
  static constexpr std::size_t kLastChunk = 5;
  static constexpr int kMaxInterim = 16;
  static constexpr unsigned kSwitches = 101;
  static constexpr unsigned kLeastFinalStatus = 200;

  void Renew() {
    parser_.emplace();
    parser_->get().body() = body_;
    parser_->body_limit(body_limit_);
    parser_->eager(true);
    cut_ = false;
  }

  absl::Status DropInterim() {
    if (!parser_->is_header_done()) return absl::OkStatus();
    const unsigned status = parser_->get().result_int();
    if (status >= kLeastFinalStatus) return absl::OkStatus();
    Renew();
    if (status == kSwitches) return absl::InvalidArgumentError("answer switches protocols unasked");
    if (++interim_ > kMaxInterim) return absl::InvalidArgumentError("too many interim answers");
    return absl::OkStatus();
  }

  const boost::optional<std::uint64_t> body_limit_;
  const typename Body::value_type body_;
  boost::optional<Parser> parser_;
  int interim_ = 0;
  bool cut_ = false;  // The parser did not take all of the last input.
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_LOAD_ANSWER_PARSER_H_
