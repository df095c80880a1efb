// Parses the head of one request with Boost.Beast, and refuses heads that two recipients could read in two ways.
//
// Put() takes whole lines; the caller keeps the rest for the next call. Body and trailers never reach the parser. One
// owner. Cost: each byte is looked at twice at most, however it arrives.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_REQUEST_HEAD_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_REQUEST_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"

namespace penstock {

// Method, target, fields and framing of a request.
struct RequestHead {
  std::string method;
  std::string target;
  HeaderList headers;
  bool http10 = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool chunked = false;
  std::optional<uint64_t> length;  // Of the body, as announced.
};

// A head of more bytes, fields or names in Connection is 431.
class RequestHeadParser {
 public:
  static constexpr int kMaxFields = 100;
  static constexpr int kMaxConnectionNames = 32;

  explicit RequestHeadParser(size_t max_bytes);
  ~RequestHeadParser();
  RequestHeadParser(const RequestHeadParser&) = delete;
  RequestHeadParser& operator=(const RequestHeadParser&) = delete;

  // Returns the bytes taken. The next call has the others again, with more behind them. Not after done() or an error.
  size_t Put(absl::string_view input);
  bool done() const;
  // Some bytes were taken.
  bool begun() const { return taken_ > 0; }
  // Null: there is none.
  const ApiError* error() const { return error_.get(); }
  // Complete after done(). Before, what was read so far.
  RequestHead& head();
  const RequestHead& head() const;

 private:
  struct Parser;

  void Fail(ApiError error);
  ApiError Translate(int code) const;

  const size_t max_bytes_;
  std::unique_ptr<Parser> parser_;
  size_t taken_ = 0;
  std::unique_ptr<const ApiError> error_;  // Rare and large.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_REQUEST_HEAD_H_
