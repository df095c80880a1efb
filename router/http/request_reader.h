// Turns the bytes of one client connection into requests, with limits. No I/O.
//
// Usage: Offer or Append the bytes that were read, then Advance until it wants more. State kHeadDone comes once per
// request with a body (the place to answer Expect: 100-continue). State kDone comes when the request is complete. Bytes
// of a following request stay for the next round. One owner. Conflicting or repeated framing headers are errors.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_READER_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_READER_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "base/byte_budget.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"

namespace penstock {

struct ClientRequest {
  std::string method;
  std::string target;
  HeaderList headers;
  std::string body;
  ByteShare memory;  // A share of the bodies' budget; small bodies take nothing.
  bool http10 = false;
  bool keep_alive = true;
};

class RequestReader {
 public:
  struct Limits {
    size_t header = 64 << 10;
    size_t body = 64 << 20;
    ByteBudget* bodies = nullptr;  // Null: unbounded.
    Bytes all_bodies{0};
  };
  enum class State { kNeedMore, kHeadDone, kDone, kFailed };

  explicit RequestReader(const Limits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Bytes to read on from. Append copies them; Offer leaves them where they are, and what Advance does not take it
  // keeps: they have to stay until Advance returned.
  void Append(absl::string_view bytes);
  void Offer(absl::string_view bytes);
  State Advance();
  // The error behind kFailed. The connection cannot be used any further.
  const ApiError& error() const { return error_; }
  bool expects_continue() const { return expects_continue_; }
  // Takes the request after kDone. The reader is then ready for the next request.
  ClientRequest Take();
  // Memory for the body of a request that has not begun; large ones are given back.
  void Reuse(std::string body);
  // Nothing of a request has arrived yet.
  bool Idle() const;
  // The head is complete, its body is not.
  bool InBody() const { return head_done_; }
  size_t buffered() const { return input_.size(); }

 private:
  struct Parser;
  State AdvanceInput();
  void KeepInput();
  State HeaderTooLarge();
  State Fail(ApiError error);
  State HandleParseError(int code);

  Limits limits_;
  std::unique_ptr<Parser> parser_;
  std::string buffer_;
  absl::string_view input_;  // Not taken yet; the end of buffer_, or what was offered.
  bool offered_ = false;
  bool head_done_ = false;
  bool cut_ = false;       // The parser did not take all of the last input.
  size_t head_bytes_ = 0;  // Taken by the parser before the head ended.
  bool expects_continue_ = false;
  std::string spare_body_;
  ApiError error_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_READER_H_
