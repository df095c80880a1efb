#include "router/http/exchange/answer.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "router/anthropic/error_form.h"
#include "router/http/origin/cross_origin.h"
#include "router/ollama/error_form.h"
#include "router/openai/error/rate_limits.h"
#include "router/openai/route/routes.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr size_t kIdDigits = 24;

}  // namespace

std::string NewRequestId() {
  static thread_local std::mt19937_64 generator{std::random_device{}()};
  constexpr absl::string_view kPrefix = "req-";
  std::string id(kPrefix.size() + kIdDigits, '-');
  kPrefix.copy(id.data(), kPrefix.size());
  uint64_t bits = 0;
  for (size_t i = 0; i < kIdDigits; ++i, bits >>= 4) {
    if (i % 16 == 0) bits = generator();
    id[kPrefix.size() + i] = "0123456789abcdef"[bits & 15];
  }
  return id;
}

namespace {

// Whole seconds, at least 1, as RFC 9110 wants them.
int64_t WholeSeconds(Duration d) { return std::max<int64_t>(1, (d.nanoseconds() + 999'999'999) / 1'000'000'000); }

HeaderList ErrorHeaders(const ApiError& error) {
  HeaderList headers;
  if (error.retry_after) {
    const Duration after = *error.retry_after > Duration() ? *error.retry_after : Duration::Seconds(1);
    headers.Add("retry-after", absl::StrCat(WholeSeconds(after)));
    const int64_t ms = std::max<int64_t>(1, after.nanoseconds() / 1'000'000);
    headers.Add("retry-after-ms", absl::StrCat(ms));
  }
  if (error.never_retry) headers.Add("x-should-retry", "false");
  if (!error.reason.empty()) headers.Add("x-penstock-reason", error.reason);
  if (!error.allow.empty()) headers.Add("allow", error.allow);
  if (error.allowance) AddRateLimits(*error.allowance, headers);
  if (error.status == http_status::kUpgradeRequired) headers.Add("sec-websocket-version", "13");
  if (error.status == http_status::kUnauthorized) headers.Add("www-authenticate", "Bearer");
  return headers;
}

ErrorForm ErrorFormOf(absl::string_view target) {
  if (SpeaksAnthropic(target)) return ErrorForm::kAnthropic;
  return SpeaksOllama(target) ? ErrorForm::kOllama : ErrorForm::kOpenAi;
}

// The router's own pages are for its own origin.
AnswerForm FormOf(const EventLoop& loop, const RequestHead& request) {
  std::string id = ClientRequestId(request.headers);
  AnswerForm form{id.empty() ? NewRequestId() : std::move(id),
                  request.http10,
                  request.method == "HEAD",
                  ErrorFormOf(request.target),
                  {}};
  const FleetView* fleet = loop.fleet().get();
  if (fleet != nullptr && fleet->config().cors && !MatchRoute(request.method, request.target).admin) {
    form.cross_origin = CrossOriginHeaders(*fleet->config().cors, FindHeader(request.headers, "origin"));
  }
  return form;
}

}  // namespace

Answer::Answer(const EventLoop& loop, const RequestHead& request) : form_(FormOf(loop, request)) {}

asio::awaitable<bool> Answer::Error(const ApiError& error) {
  if (BreakOff()) co_return !gone();
  if (!begun()) {
    refusal_ = error.status;
    refusal_reason_ = error.bad_input ? std::string(LabelOf(*error.bad_input)) : error.reason;
    const std::string body = form_.errors == ErrorForm::kAnthropic ? AnthropicErrorBody(error, form_.request_id)
                             : form_.errors == ErrorForm::kOllama  ? OllamaErrorBody(error)
                                                                   : ErrorBody(error);
    HeaderList headers = ErrorHeaders(error);
    if (!trace_id_.empty()) headers.Add("x-penstock-trace", trace_id_);
    co_return co_await SendWhole(*this, error.status, "application/json", headers, body);
  }
  const std::string events =
      form_.errors == ErrorForm::kAnthropic ? AnthropicErrorEvent(error, form_.request_id) : ErrorEvents(error);
  const std::vector<absl::string_view> pieces(1, events);
  const HeaderList none;
  if (!co_await SendEvents(*this, none, pieces)) co_return false;
  co_return co_await End();
}

absl::string_view Answer::SignOfLife() const {
  return form_.errors == ErrorForm::kAnthropic ? kAnthropicPing : ": keep-alive\n\n";
}

}  // namespace penstock
