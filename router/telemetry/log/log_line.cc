#include "router/telemetry/log/log_line.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/harmless.h"
#include "router/telemetry/log/text_limits.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned char kDelete = 0x7f;

void Put(Json& line, const char* key, const std::string& text, size_t most = kLongestLogText) {
  if (!text.empty()) line[key] = text.size() > most ? text.substr(0, most) : text;
}
template <class Tag>
void Put(Json& line, const char* key, const std::optional<Count<Tag>>& count) {
  if (count) line[key] = count->value();
}
void Put(Json& line, const char* key, const std::optional<Duration>& span) {
  if (span) line[key] = std::round(span->seconds() * 1e6) / 1e6;
}
template <class Number>
void Put(Json& line, const char* key, const std::optional<Number>& number) {
  if (number) line[key] = *number;
}

// JSON leaves some harmful characters as they are, and a terminal obeys them.
std::string WithoutHarm(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  EachUtf8(json, [&text](absl::string_view bytes, const Utf8Character& next) {
    if (IsHarmful(next.point)) {
      absl::StrAppendFormat(&text, "\\u%04x", next.point);
    } else {
      text.append(bytes.data(), bytes.size());
    }
  });
  return text;
}

std::string Dump(const Json& value) { return WithoutHarm(value.dump(-1, ' ', false, Json::error_handler_t::replace)); }

Json FieldsOf(const DecisionEntry& entry) {
  Json line = Json::object();
  Put(line, "request", entry.request_id);
  Put(line, "trace", entry.trace_id);
  Put(line, "method", entry.method);
  Put(line, "path", entry.path);
  Put(line, "endpoint", entry.endpoint);
  Put(line, "model", entry.model);
  Put(line, "class", entry.service_class);
  Put(line, "tenant", entry.tenant);
  Put(line, "client", entry.client);
  Put(line, "replica", entry.replica);
  Put(line, "ended", entry.ended);
  Put(line, "reason", entry.reason);
  Put(line, "status", entry.status);
  Put(line, "prompt_tokens_estimate", entry.prompt_estimate);
  Put(line, "prompt_tokens", entry.prompt);
  Put(line, "max_tokens", entry.max_output);
  Put(line, "output_tokens", entry.output);
  Put(line, "position", entry.position);
  Put(line, "bound", entry.bound);
  Put(line, "value", entry.value);
  if (entry.suppressed > 0) line["suppressed"] = entry.suppressed;
  Put(line, "bytes_received", entry.received);
  Put(line, "bytes_sent", entry.sent);
  Put(line, "waited_s", entry.waited);
  Put(line, "ttft_s", entry.ttft);
  Put(line, "expected_ttft_s", entry.expected_ttft);
  Put(line, "retry_after_s", entry.retry_after);
  Put(line, "total_s", entry.total);
  Put(line, "peak_share", entry.peak_share);
  return line;
}

// A word needs no quotes.
bool IsWord(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c != '"' && c != '=' && c != '\\' && static_cast<unsigned char>(c) < kDelete;
  });
}

// The text of a JSON string without its quotes.
absl::string_view Unquoted(absl::string_view json) { return json.substr(1, json.size() - 2); }

}  // namespace

const char* LabelOf(DecisionEntry::Kind kind) {
  switch (kind) {
    case DecisionEntry::Kind::kForward:
      return "forward";
    case DecisionEntry::Kind::kPark:
      return "park";
    case DecisionEntry::Kind::kAbort:
      return "abort";
    case DecisionEntry::Kind::kEnd:
      return "end";
    case DecisionEntry::Kind::kRefuse:
      return "refuse";
    case DecisionEntry::Kind::kError:
      return "error";
    case DecisionEntry::Kind::kNotice:
      return "notice";
    case DecisionEntry::Kind::kAccess:
      return "access";
  }
  return "notice";
}

LogLevel LevelOf(const DecisionEntry& entry) {
  if (entry.level) return *entry.level;
  if (entry.kind == DecisionEntry::Kind::kError) return LogLevel::kError;
  return entry.kind == DecisionEntry::Kind::kRefuse ? LogLevel::kWarning : LogLevel::kInfo;
}

std::string FormatTime(double unix_seconds) {
  const absl::Time time = absl::FromUnixMicros(static_cast<int64_t>(unix_seconds * 1e6 + 0.5));
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

std::string FormatDecision(const DecisionEntry& entry, double unix_seconds) {
  Json line;
  line["time"] = FormatTime(unix_seconds);
  line["level"] = NameOf(LevelOf(entry));
  line["event"] = LabelOf(entry.kind);
  line.update(FieldsOf(entry));
  Put(line, "message", entry.message, LongestMessage(entry));
  return Dump(line);
}

std::string FormatText(const DecisionEntry& entry, double unix_seconds) {
  std::string text = absl::StrFormat("%s %-7s", FormatTime(unix_seconds), NameOf(LevelOf(entry)));
  // Only the router itself writes notices; other messages may quote a client.
  const bool own = entry.kind == DecisionEntry::Kind::kNotice;
  if (!own) absl::StrAppend(&text, " ", LabelOf(entry.kind));
  if (!entry.message.empty()) {
    const std::string json = Dump(Json(entry.message.substr(0, LongestMessage(entry))));
    absl::StrAppend(&text, " ", own ? Unquoted(json) : absl::string_view(json));
  }
  const Json fields = FieldsOf(entry);
  for (const auto& [name, value] : fields.items()) {
    const std::string json = Dump(value);
    const bool plain = !value.is_string() || IsWord(value.get_ref<const std::string&>());
    absl::StrAppend(&text, " ", name, "=", value.is_string() && plain ? Unquoted(json) : absl::string_view(json));
  }
  return text;
}

}  // namespace penstock
