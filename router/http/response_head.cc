#include "router/http/response_head.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/http/exchange/date.h"
#include "router/openai/error/http_status.h"

namespace penstock {
namespace {

// Most heads have room in this.
constexpr size_t kUsualSize = 384;

}  // namespace

ResponseHead::ResponseHead(int status, bool keep_alive, bool http10)
    : keep_alive_(keep_alive), http10_(http10), bare_(status == http_status::kNoContent) {
  text_.reserve(kUsualSize);
  absl::StrAppend(&text_, "HTTP/1.1 ", status, " ", http_status::ReasonPhrase(status), "\r\ndate: ", DateNow(), "\r\n");
}

ResponseHead& ResponseHead::Add(absl::string_view name, absl::string_view value) {
  text_.append(name.data(), name.size()).append(": ", 2).append(value.data(), value.size()).append("\r\n", 2);
  if (std::any_of(value.begin(), value.end(), EndsField)) {
    const auto from = text_.end() - static_cast<std::ptrdiff_t>(value.size() + 2);
    text_.erase(std::remove_if(from, text_.end() - 2, EndsField), text_.end() - 2);
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

std::string ResponseHead::Switching() && {
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
