#include "router/openai/request/json_cursor.h"

#include "absl/strings/numbers.h"
#include "base/json_string.h"

namespace penstock {
namespace {

size_t SkipSpace(absl::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) ++at;
  return at;
}

// Past the closing quote; `at` is at the opening one.
size_t SkipString(absl::string_view text, size_t at) {
  const char* const end = text.data() + text.size();
  while (++at < text.size()) {
    at = static_cast<size_t>(SkipPlainJson(text.data() + at, end) - text.data());
    if (at == text.size()) break;
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return text.size();
}

size_t SkipContainer(absl::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    switch (text[at]) {
      case '"':
        at = SkipString(text, at);
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
    ++at;
  }
  return text.size();
}

size_t SkipScalar(absl::string_view text, size_t at) {
  const size_t end = text.find_first_of(",]} \n\r\t", at);
  return end == absl::string_view::npos ? text.size() : end;
}

size_t SkipValue(absl::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  if (text[at] == '"') return SkipString(text, at);
  if (text[at] == '{' || text[at] == '[') return SkipContainer(text, at);
  return SkipScalar(text, at);
}

}  // namespace

JsonKind JsonValue::kind() const {
  if (span.begin >= document.size()) return JsonKind::kNull;
  switch (document[span.begin]) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kString;
    case 't':
    case 'f':
      return JsonKind::kBool;
    case 'n':
      return JsonKind::kNull;
    default:
      return JsonKind::kNumber;
  }
}

std::string JsonValue::Text() const { return kind() == JsonKind::kString ? UnescapeJson(inside()) : std::string(); }

std::optional<int64_t> JsonValue::Integer() const {
  int64_t number = 0;
  if (kind() != JsonKind::kNumber || !absl::SimpleAtoi(raw(), &number)) return std::nullopt;
  return number;
}

JsonValue ValueAt(absl::string_view document, size_t from) {
  const size_t begin = SkipSpace(document, from);
  return JsonValue{document, JsonSpan{begin, SkipValue(document, begin)}};
}

JsonObject::JsonObject(const JsonValue& object) : document_(object.document), position_(object.span.begin + 1) {}

std::optional<JsonObject::Member> JsonObject::Next() {
  position_ = SkipSpace(document_, position_);
  if (position_ < document_.size() && document_[position_] == ',') position_ = SkipSpace(document_, position_ + 1);
  if (position_ >= document_.size() || document_[position_] != '"') return std::nullopt;
  Member member;
  member.key_span = JsonSpan{position_, SkipString(document_, position_)};
  member.key = document_.substr(member.key_span.begin + 1, member.key_span.size() - 2);
  if (member.key.find('\\') != absl::string_view::npos) {
    unescaped_ = UnescapeJson(member.key);
    member.key = unescaped_;
  }
  position_ = SkipSpace(document_, member.key_span.end);
  member.value = ValueAt(document_, position_ + 1);
  position_ = member.value.span.end;
  return member;
}

JsonArray::JsonArray(const JsonValue& array) : document_(array.document), position_(array.span.begin + 1) {}

std::optional<JsonValue> JsonArray::Next() {
  position_ = SkipSpace(document_, position_);
  if (position_ < document_.size() && document_[position_] == ',') position_ = SkipSpace(document_, position_ + 1);
  if (position_ >= document_.size() || document_[position_] == ']') return std::nullopt;
  const JsonValue value = ValueAt(document_, position_);
  position_ = value.span.end;
  return value;
}

}  // namespace penstock
