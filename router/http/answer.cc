#include "router/http/answer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <random>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
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

asio::const_buffer AsBuffer(absl::string_view text) { return asio::const_buffer(text.data(), text.size()); }

absl::string_view AsText(const asio::const_buffer& bytes) {
  return absl::string_view(static_cast<const char*>(bytes.data()), bytes.size());
}

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
  if (error.status == http_status::kUnauthorized) headers.Add("www-authenticate", "Bearer");
  return headers;
}

ErrorForm ErrorFormOf(absl::string_view target) {
  if (SpeaksAnthropic(target)) return ErrorForm::kAnthropic;
  return SpeaksOllama(target) ? ErrorForm::kOllama : ErrorForm::kOpenAi;
}

// The router's own pages are for its own origin.
AnswerForm FormOf(const EventLoop& loop, const ClientRequest& request, std::string request_id) {
  AnswerForm form{std::move(request_id), request.http10, request.method == "HEAD", ErrorFormOf(request.target),
                  std::nullopt};
  const FleetView* fleet = loop.fleet().get();
  if (fleet != nullptr && fleet->config().cors && !MatchRoute(request.method, request.target).admin) {
    form.cross_origin = CrossOriginHeaders(*fleet->config().cors, FindHeader(request.headers, "origin"));
  }
  return form;
}

}  // namespace

std::string NewRequestId() {
  static thread_local std::mt19937_64 generator{std::random_device{}()};
  return absl::StrCat("req-", absl::Hex(generator(), absl::kZeroPad16),
                      absl::Hex(generator() & 0xffffffff, absl::kZeroPad8));
}

Answer::Answer(EventLoop& loop, ClientConnection& connection, const ClientRequest& request, std::string request_id)
    : loop_(loop),
      connection_(connection),
      form_(FormOf(loop, request, std::move(request_id))),
      keep_alive_(request.keep_alive) {}

bool Answer::MustClose() const {
  return connection_.upload().unread() || loop_.edge().draining.load(std::memory_order_relaxed);
}

bool Answer::CanTakeAnother() const { return keep_alive_ && ended_; }

ResponseHead Answer::HeadOf(int status, absl::string_view content_type, const HeaderList& headers) const {
  ResponseHead head(status, keep_alive_, form_.http10);
  if (!content_type.empty()) head.Add("content-type", content_type);
  head.Add("x-request-id", form_.request_id);
  if (form_.errors == ErrorForm::kAnthropic) head.Add("request-id", form_.request_id);
  if (form_.cross_origin) {
    for (const auto [name, value] : *form_.cross_origin) head.Add(name, value);
  }
  for (const auto [name, value] : headers) head.Add(name, value);
  return head;
}

Written Answer::Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) {
  if (MustClose()) keep_alive_ = false;
  const std::string text = HeadOf(status, content_type, headers).WithLength(body.size());
  head_sent_ = ended_ = whole_ = true;
  status_ = status;
  return WriteBoth(text, form_.head_only ? absl::string_view() : body);
}

Written Answer::WriteBoth(const std::string& first, absl::string_view second) {
  if (first.empty() && second.empty()) return connection_.gone() ? Written::kGone : Written::kAll;
  std::array<asio::const_buffer, 2> buffers = {AsBuffer(first), AsBuffer(second)};
  std::span<asio::const_buffer> left(buffers.data(), second.empty() ? 1 : 2);
  const Written written = connection_.WriteNow(left);
  if (written == Written::kPart) {
    const bool in_first = left.data() == buffers.data();
    if (in_first) unsent_ = std::string(AsText(left.front()));
    if (!in_first || left.size() > 1) unsent_body_ = AsText(left.back());
  }
  return written;
}

void Answer::BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) {
  chunks_ = !length && !form_.http10;
  const bool until_close = !length && form_.http10;
  if (until_close || MustClose()) keep_alive_ = false;
  ResponseHead head = HeadOf(whole_status_, content_type, headers);
  unsent_ = length ? std::move(head).WithLength(*length) : std::move(head).Chunked();
  whole_ = true;
}

Written Answer::Part(absl::string_view bytes) {
  std::string before = std::exchange(unsent_, std::string());
  if (form_.head_only) {
    head_sent_ = true;
    status_ = whole_status_;
    return WriteBoth(before, absl::string_view());
  }
  if (chunks_) absl::StrAppend(&before, head_sent_ ? "\r\n" : "", absl::Hex(bytes.size()), "\r\n");
  head_sent_ = true;
  status_ = whole_status_;
  if (!before.empty()) return WriteBoth(before, bytes);
  std::array<asio::const_buffer, 1> buffers = {AsBuffer(bytes)};
  std::span<asio::const_buffer> left(buffers);
  const Written written = connection_.WriteNow(left);
  if (written == Written::kPart) unsent_body_ = AsText(left.front());
  return written;
}

asio::awaitable<bool> Answer::FinishWhole() {
  std::vector<asio::const_buffer> rest;
  if (!unsent_.empty()) rest.push_back(AsBuffer(unsent_));
  if (!unsent_body_.empty()) rest.push_back(AsBuffer(unsent_body_));
  const bool alive = co_await connection_.Write(std::move(rest));
  std::string().swap(unsent_);
  unsent_body_ = absl::string_view();
  co_return alive;
}

asio::awaitable<bool> Answer::Error(const ApiError& error) {
  std::string().swap(unsent_);
  if (whole_ && head_sent_) {
    ended_ = false;
    co_return !connection_.gone();
  }
  if (!head_sent_) {
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

std::string Answer::StreamHead(const HeaderList& headers) {
  if (form_.http10 || loop_.edge().draining.load(std::memory_order_relaxed)) keep_alive_ = false;
  ResponseHead head = HeadOf(http_status::kOk, "text/event-stream; charset=utf-8", headers);
  head.Add("cache-control", "no-cache").Add("x-accel-buffering", "no");
  head_sent_ = true;
  status_ = http_status::kOk;
  return std::move(head).Chunked();
}

Written Answer::Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) {
  std::string head = head_sent_ ? "" : StreamHead(headers);
  if (form_.head_only) {
    const Written written = WriteBoth(head, absl::string_view());
    writing_ = written == Written::kPart;
    return written;
  }
  size_t size = 0;
  for (absl::string_view piece : pieces) size += piece.size();
  absl::InlinedVector<asio::const_buffer, 6> buffers;
  if (!form_.http10) absl::StrAppend(&head, absl::Hex(size), "\r\n");
  buffers.push_back(AsBuffer(head));
  for (absl::string_view piece : pieces) buffers.push_back(AsBuffer(piece));
  if (!form_.http10) buffers.push_back(AsBuffer("\r\n"));
  std::span<asio::const_buffer> left(buffers.data(), buffers.size());
  const Written written = connection_.WriteNow(left);
  if (written == Written::kPart) {
    writing_ = true;
    for (const asio::const_buffer& rest : left) absl::StrAppend(&unsent_, AsText(rest));
  }
  return written;
}

asio::awaitable<bool> Answer::FinishEvents() {
  std::vector<asio::const_buffer> rest(1, AsBuffer(unsent_));
  const bool alive = co_await connection_.Write(std::move(rest));
  std::string().swap(unsent_);
  writing_ = false;
  co_return alive;
}

asio::awaitable<bool> Answer::End() {
  ended_ = true;
  if (form_.head_only || form_.http10 || (whole_ && !chunks_)) co_return !connection_.gone();
  // The line end behind the last part of a whole answer is due.
  const absl::string_view end = whole_ ? "\r\n0\r\n\r\n" : "0\r\n\r\n";
  std::vector<asio::const_buffer> last_chunk(1, AsBuffer(end));
  co_return co_await connection_.Write(std::move(last_chunk));
}

void Answer::KeepAlive(const HeaderList& headers) {
  if (writing_ || ended_ || connection_.gone()) return;
  const absl::string_view sign = form_.errors == ErrorForm::kAnthropic ? kAnthropicPing : ": keep-alive\n\n";
  const bool first = !head_sent_;
  std::string bytes = first ? StreamHead(headers) : "";
  if (form_.head_only) {
    if (!first) return;
  } else if (form_.http10) {
    absl::StrAppend(&bytes, sign);
  } else {
    absl::StrAppend(&bytes, absl::Hex(sign.size()), "\r\n", sign, "\r\n");
  }
  if (!connection_.WriteSmall(bytes) && first) head_sent_ = false;
}

}  // namespace penstock
