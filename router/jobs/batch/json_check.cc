#include "router/jobs/batch/json_check.h"

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "base/json_string.h"

namespace penstock::jobs {
namespace {

class JsonCheck {
 public:
  explicit JsonCheck(absl::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool Run() {
    Next next = Next::kValue;
    while (next == Next::kValue) {
      SkipSpace();
      const char first = Peek();
      if (first == '{' || first == '[') {
        next = Open(first == '{');
      } else {
        next = Scalar(first) ? Behind() : Next::kBad;
      }
    }
    return next == Next::kEnd;
  }

 private:
  enum class Next : uint8_t { kValue, kEnd, kBad };

  char Peek() const { return at_ < end_ ? *at_ : '\0'; }
  bool Take(char wanted) {
    if (Peek() != wanted) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  Next Open(bool object) {
    ++at_;
    SkipSpace();
    if (Take(object ? '}' : ']')) return Behind();
    open_.push_back(object);
    return !object || Key() ? Next::kValue : Next::kBad;
  }
  // The next token behind a value.
  Next Behind() {
    SkipSpace();
    while (!open_.empty()) {
      if (Take(',')) {
        SkipSpace();
        return !open_.back() || Key() ? Next::kValue : Next::kBad;
      }
      if (!Take(open_.back() ? '}' : ']')) return Next::kBad;
      open_.pop_back();
      SkipSpace();
    }
    return at_ == end_ ? Next::kEnd : Next::kBad;
  }
  bool Key() {
    if (!String()) return false;
    SkipSpace();
    return Take(':');
  }
  bool Scalar(char first) {
    if (first == '"') return String();
    if (first == 't') return Literal("true");
    if (first == 'f') return Literal("false");
    return first == 'n' ? Literal("null") : Number();
  }
  bool Literal(absl::string_view word) {
    if (!absl::StartsWith(absl::string_view(at_, static_cast<size_t>(end_ - at_)), word)) return false;
    at_ += word.size();
    return true;
  }
  bool Digits() {
    const char* const begin = at_;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }
  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (!Take('e') && !Take('E')) return true;
    if (!Take('+')) Take('-');
    return Digits();
  }
  bool String() {
    if (!Take('"')) return false;
    while (true) {
      at_ = SkipPlainJson(at_, end_);
      if (Peek() != '\\') return Take('"');
      const JsonEscape escape = ReadJsonEscape(at_, end_);
      if (escape.kind != JsonEscape::Kind::kCharacter) return false;
      at_ += escape.length;
    }
  }

  const char* at_;
  const char* const end_;
  std::vector<bool> open_;  // True for an object, false for a list.
};

}  // namespace

bool IsJsonValue(absl::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size()) && JsonCheck(text).Run();
}

}  // namespace penstock::jobs
