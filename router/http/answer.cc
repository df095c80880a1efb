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
#include "router/http/response_head.h"
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
  if (error.status == http_status::kUnauthorized) headers.Add("www-authenticate", "Bearer");
  return headers;
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
      request_id_(std::move(request_id)),
      http10_(request.http10),
      head_only_(request.method == "HEAD"),
      keep_alive_(request.keep_alive),
      anthropic_(SpeaksAnthropic(request.target)) {}

bool Answer::MustClose() const {
  return connection_.upload().unread() || loop_.edge().draining.load(std::memory_order_relaxed);
}

bool Answer::CanTakeAnother() const { return keep_alive_ && ended_; }

Written Answer::Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) {
  if (MustClose()) keep_alive_ = false;
  ResponseHead head(status, keep_alive_, http10_);
  head.Add("content-type", content_type).Add("x-request-id", request_id_);
  if (anthropic_) head.Add("request-id", request_id_);
  for (const auto [name, value] : headers) head.Add(name, value);
  const std::string text = std::move(head).WithLength(body.size());
  head_sent_ = ended_ = whole_ = true;
  status_ = status;
  return WriteBoth(text, head_only_ ? absl::string_view() : body);
}

Written Answer::WriteBoth(const std::string& first, absl::string_view second) {
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
  chunks_ = !length && !http10_;
  const bool until_close = !length && http10_;
  if (until_close || MustClose()) keep_alive_ = false;
  ResponseHead head(http_status::kOk, keep_alive_, http10_);
  head.Add("content-type", content_type).Add("x-request-id", request_id_);
  if (anthropic_) head.Add("request-id", request_id_);
  for (const auto [name, value] : headers) head.Add(name, value);
  unsent_ = length ? std::move(head).WithLength(*length) : std::move(head).Chunked();
  whole_ = true;
}

Written Answer::Part(absl::string_view bytes) {
  std::string before = std::exchange(unsent_, std::string());
  if (chunks_) absl::StrAppend(&before, head_sent_ ? "\r\n" : "", absl::Hex(bytes.size()), "\r\n");
  head_sent_ = true;
  status_ = http_status::kOk;
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
    const std::string body = anthropic_ ? AnthropicErrorBody(error, request_id_) : ErrorBody(error);
    const HeaderList headers = ErrorHeaders(error);
    co_return co_await SendWhole(*this, error.status, "application/json", headers, body);
  }
  const std::string events = anthropic_ ? AnthropicErrorEvent(error, request_id_) : ErrorEvents(error);
  const std::vector<absl::string_view> pieces(1, events);
  const HeaderList none;
  if (!co_await SendEvents(*this, none, pieces)) co_return false;
  co_return co_await End();
}

std::string Answer::StreamHead(const HeaderList& headers) {
  if (http10_ || loop_.edge().draining.load(std::memory_order_relaxed)) keep_alive_ = false;
  ResponseHead head(http_status::kOk, keep_alive_, http10_);
  head.Add("content-type", "text/event-stream; charset=utf-8")
      .Add("cache-control", "no-cache")
      .Add("x-accel-buffering", "no")
      .Add("x-request-id", request_id_);
  if (anthropic_) head.Add("request-id", request_id_);
  for (const auto [name, value] : headers) head.Add(name, value);
  head_sent_ = true;
  status_ = http_status::kOk;
  return std::move(head).Chunked();
}

Written Answer::Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) {
  std::string head = head_sent_ ? "" : StreamHead(headers);
  size_t size = 0;
  for (absl::string_view piece : pieces) size += piece.size();
  absl::InlinedVector<asio::const_buffer, 6> buffers;
  if (!http10_) absl::StrAppend(&head, absl::Hex(size), "\r\n");
  buffers.push_back(AsBuffer(head));
  for (absl::string_view piece : pieces) buffers.push_back(AsBuffer(piece));
  if (!http10_) buffers.push_back(AsBuffer("\r\n"));
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
  if (http10_ || (whole_ && !chunks_)) co_return !connection_.gone();
  // The line end behind the last part of a whole answer is due.
  const absl::string_view end = whole_ ? "\r\n0\r\n\r\n" : "0\r\n\r\n";
  std::vector<asio::const_buffer> last_chunk(1, AsBuffer(end));
  co_return co_await connection_.Write(std::move(last_chunk));
}

void Answer::KeepAlive(const HeaderList& headers) {
  if (writing_ || ended_ || connection_.gone()) return;
  const absl::string_view sign = anthropic_ ? kAnthropicPing : ": keep-alive\n\n";
  const bool first = !head_sent_;
  std::string bytes = first ? StreamHead(headers) : "";
  if (http10_) {
    absl::StrAppend(&bytes, sign);
  } else {
    absl::StrAppend(&bytes, absl::Hex(sign.size()), "\r\n", sign, "\r\n");
  }
  if (!connection_.WriteSmall(bytes) && first) head_sent_ = false;
}

}  // namespace penstock
