// The answer to one request, in any version of HTTP: its ids, the headers that all answers have, and the form of
// errors.
//
// The versions derive from it and write its bytes. Used by one coroutine of one loop.
#ifndef PENSTOCK_ROUTER_HTTP_EXCHANGE_ANSWER_H_
#define PENSTOCK_ROUTER_HTTP_EXCHANGE_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/boxed.h"
#include "router/http/request/request_head.h"
#include "router/live/event_loop.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"
#include "router/session/client/client.h"

namespace penstock {

// A fresh id for a request that brought none: "req-" and 24 hexadecimal digits.
std::string NewRequestId();

// The dialect of a client, in errors and signs of life.
enum class ErrorForm : uint8_t { kOpenAi, kAnthropic, kOllama };

// The facts of a request that shape every answer to it.
struct AnswerForm {
  std::string request_id;  // The client's, or a fresh one.
  bool http10 = false;
  bool head_only = false;
  ErrorForm errors = ErrorForm::kOpenAi;
  Boxed<HeaderList> cross_origin;  // For pages of other origins; empty where none may read.
};

class Answer : public Client {
 public:
  // Errors name the trace from now on.
  void SetTrace(std::string trace_id) { trace_id_ = std::move(trace_id); }

  boost::asio::awaitable<bool> Error(const ApiError& error) final;

  const std::string& request_id() const { return form_.request_id; }
  // Empty: the request belongs to none.
  const std::string& trace_id() const { return trace_id_; }
  // Pages of other origins may read answers.
  bool cross_origin() const { return static_cast<bool>(form_.cross_origin); }
  // The status of the error that is the whole answer; 0: there is none.
  int refusal() const { return refusal_; }
  // Its reason, or the kind of bad input.
  const std::string& refusal_reason() const { return refusal_reason_; }
  // The connection can take another request.
  virtual bool CanTakeAnother() const = 0;

 protected:
  Answer(const EventLoop& loop, const RequestHead& request);
  ~Answer() = default;

  // Drops bytes that wait. True: a whole answer has begun, and ends here without its end.
  virtual bool BreakOff() = 0;

  const AnswerForm& form() const { return form_; }
  // Adds what all answers have, and `headers`. Head: ResponseHead or its like.
  template <class Head>
  void FillHead(Head& head, absl::string_view content_type, const HeaderList& headers) const {
    if (!content_type.empty()) head.Add("content-type", content_type);
    head.Add("x-request-id", form_.request_id);
    if (form_.errors == ErrorForm::kAnthropic) head.Add("request-id", form_.request_id);
    if (form_.cross_origin) {
      for (const auto [name, value] : *form_.cross_origin) head.Add(name, value);
    }
    for (const auto [name, value] : headers) head.Add(name, value);
  }
  template <class Head>
  void FillStreamHead(Head& head, const HeaderList& headers) const {
    FillHead(head, "text/event-stream; charset=utf-8", headers);
    head.Add("cache-control", "no-cache");
    head.Add("x-accel-buffering", "no");
  }
  // An event that shows a waiting client that the router lives.
  absl::string_view SignOfLife() const;

 private:
  const AnswerForm form_;
  std::string trace_id_;
  int refusal_ = 0;
  std::string refusal_reason_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_EXCHANGE_ANSWER_H_
