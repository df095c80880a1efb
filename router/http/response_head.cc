#include "router/http/response_head.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "router/openai/error/http_status.h"

namespace penstock {
namespace {

// Most heads have room in this.
constexpr size_t kUsualSize = 384;

// Would end a header line.
bool Breaks(char c) { return c == '\r' || c == '\n' || c == '\0'; }

// RFC 9110 prescribes this form: Sun, 06 Nov 1994 08:49:37 GMT.
absl::string_view DateLine() {
  static thread_local std::time_t second = 0;
  static thread_local std::string line;
  const std::time_t now = std::time(nullptr);
  if (now != second || line.empty()) {
    second = now;
    line = absl::FormatTime("date: %a, %d %b %Y %H:%M:%S GMT\r\n", absl::FromTimeT(now), absl::UTCTimeZone());
  }
  return line;
}

}  // namespace

ResponseHead::ResponseHead(int status, bool keep_alive, bool http10)
    : keep_alive_(keep_alive), http10_(http10), bare_(status == http_status::kNoContent) {
  text_.reserve(kUsualSize);
  absl::StrAppend(&text_, "HTTP/1.1 ", status, " ", http_status::ReasonPhrase(status), "\r\n", DateLine());
}

ResponseHead& ResponseHead::Add(absl::string_view name, absl::string_view value) {
  text_.append(name.data(), name.size()).append(": ", 2).append(value.data(), value.size()).append("\r\n", 2);
  if (std::any_of(value.begin(), value.end(), Breaks)) {
    const auto from = text_.end() - static_cast<std::ptrdiff_t>(value.size() + 2);
    text_.erase(std::remove_if(from, text_.end() - 2, Breaks), text_.end() - 2);
  }
  return *this;
}

std::string ResponseHead::WithLength(size_t content_length) && {
  if (!bare_) absl::StrAppend(&text_, "content-length: ", content_length, "\r\n");
  if (!keep_alive_) {
    text_ += "connection: close\r\n";
  } else if (http10_) {
    text_ += "connection: keep-alive\r\n";
  }
  text_ += "\r\n";
  return std::move(text_);
}

std::string ResponseHead::Chunked() && {
  if (!http10_) text_ += "transfer-encoding: chunked\r\n";
  if (!keep_alive_ || http10_) text_ += "connection: close\r\n";
  text_ += "\r\n";
  return std::move(text_);
}

}  // namespace penstock
