#include "bench/load/load_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/harmless.h"

namespace penstock::bench {
namespace {

namespace http = boost::beast::http;

// Enough for any error object.
constexpr size_t kKeptBytes = 64 << 10;
// Reasons become keys of the results.
constexpr size_t kMaxReason = 120;

struct ErrorText {
  std::string code;
  std::string message;
};

std::string StringAt(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ErrorText ParseError(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return {"", body.substr(0, kMaxReason)};
  const auto nested = json.find("error");
  const nlohmann::json& error = nested != json.end() && nested->is_object() ? *nested : json;
  ErrorText text{StringAt(error, "code"), StringAt(error, "message")};
  if (text.message.empty()) text.message = StringAt(json, "error");
  return text;
}

// The codes of an endpoint that says no because of its load.
bool IsRefusalCode(const std::string& code) { return code == "rate_limit_exceeded" || code == "service_unavailable"; }

// The endpoint chose the words. The last character may be cut.
std::string ReasonOf(absl::string_view words) { return Harmless(words.substr(0, kMaxReason)); }

void SetRefused(absl::string_view reason, RequestRecord& record) {
  record.fate = Fate::kRefused;
  record.reason = ReasonOf(reason);
}

void SetFailed(absl::string_view reason, RequestRecord& record) {
  record.fate = Fate::kFailed;
  record.reason = ReasonOf(reason);
}

void JudgeErrorStatus(const SinkParser& parser, const BodySink& sink, RequestRecord& record) {
  const auto& head = parser.get();
  const ErrorText error = ParseError(sink.head_bytes());
  const auto named = head.find("x-penstock-reason");
  const unsigned status = head.result_int();
  if (named != head.end()) {
    SetRefused(absl::string_view(named->value().data(), named->value().size()), record);
  } else if (status == 429 || status == 503) {
    SetRefused(error.code.empty() ? absl::StrCat("http_", status) : error.code, record);
  } else {
    SetFailed(absl::StrCat("http_", status, ": ", error.message), record);
  }
}

// The router's receipt: {"replica": NAME, "waited_ms": N, ...}.
void ReadReceipt(const SinkParser& parser, RequestRecord& record) {
  const auto header = parser.get().find("x-penstock-receipt");
  if (header == parser.get().end()) return;
  const auto json = nlohmann::json::parse(header->value().begin(), header->value().end(), nullptr, false);
  if (!json.is_object()) return;
  if (const std::string replica = StringAt(json, "replica"); !replica.empty()) record.replica = ReasonOf(replica);
  const auto waited = json.find("waited_ms");
  if (waited != json.end() && waited->is_number()) record.queue_wait = Duration::Seconds(waited->get<double>() * 1e-3);
}

}  // namespace

void BodySink::Put(absl::string_view bytes) {
  if (kept_.size() < kKeptBytes && texts_ == 0 && counter_.finish_reason().empty()) {
    kept_.append(bytes.data(), std::min(bytes.size(), kKeptBytes - kept_.size()));
  }
  texts_ += counter_.Feed(bytes);
}

int64_t BodySink::TakeTexts() {
  if (texts_ > 0) kept_.clear();
  return std::exchange(texts_, 0);
}

void Judge(const SinkParser& parser, const BodySink& sink, const std::string& broken, RequestRecord& record) {
  if (!parser.is_header_done()) return SetFailed(absl::StrCat("connection: ", broken), record);
  ReadReceipt(parser, record);
  if (parser.get().result() != http::status::ok) return JudgeErrorStatus(parser, sink, record);
  const StreamCounter& counter = sink.counter();
  if (!counter.error().empty()) {
    const ErrorText error = ParseError(counter.error());
    if (record.tokens.tokens() == 0 && IsRefusalCode(error.code)) return SetRefused(error.code, record);
    return SetFailed(absl::StrCat("stream error: ", error.message), record);
  }
  const std::string& reason = counter.finish_reason();
  if (reason == "stop" || reason == "length" || reason == "tool_calls") {
    record.fate = Fate::kFinished;
    record.reason = reason;
  } else if (!broken.empty()) {
    SetFailed(absl::StrCat("stream broken: ", broken), record);
  } else {
    SetFailed(reason.empty() ? std::string("stream without finish_reason") : absl::StrCat("finish_reason ", reason),
              record);
  }
}

}  // namespace penstock::bench
