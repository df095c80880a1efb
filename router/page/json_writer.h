// Writes JSON into one string, member by member. Names are cut and made valid UTF-8, so no client can make it large or
// break it.
#ifndef PENSTOCK_ROUTER_PAGE_JSON_WRITER_H_
#define PENSTOCK_ROUTER_PAGE_JSON_WRITER_H_

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

// At most `most` bytes of `text` as a JSON string with its quotes. A character that is cut or is no UTF-8 becomes
// U+FFFD.
void AppendQuoted(absl::string_view text, size_t most, std::string* out);

// Seconds since 1970 with three decimals, which six digits cannot hold.
struct Milliseconds {
  explicit Milliseconds(double the_seconds) : seconds(the_seconds) {}
  double seconds;
};

class JsonWriter {
 public:
  static constexpr size_t kLongestName = 160;

  JsonWriter& Begin(char bracket) {
    Comma();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& Begin(absl::string_view name, char bracket) {
    Name(name);
    text_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& End(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }

  JsonWriter& Put(absl::string_view name, absl::string_view value, size_t most = kLongestName) {
    Name(name);
    AppendQuoted(value, most, &text_);
    return *this;
  }
  JsonWriter& Put(absl::string_view name, const char* value) { return Put(name, absl::string_view(value)); }
  JsonWriter& Put(absl::string_view name, bool value) {
    Name(name);
    text_ += value ? "true" : "false";
    return *this;
  }
  JsonWriter& Put(absl::string_view name, std::integral auto value) {
    Name(name);
    absl::StrAppend(&text_, value);
    return *this;
  }
  JsonWriter& Put(absl::string_view name, double value) {
    Name(name);
    Number(value);
    return *this;
  }
  JsonWriter& Put(absl::string_view name, Amount value) { return Put(name, value.value()); }
  JsonWriter& Put(absl::string_view name, Bytes value) { return Put(name, value.value()); }
  JsonWriter& Put(absl::string_view name, Tokens value) { return Put(name, value.value()); }
  JsonWriter& Put(absl::string_view name, Milliseconds value) {
    Name(name);
    const auto whole = static_cast<int64_t>(value.seconds * 1000);
    absl::StrAppend(&text_, whole / 1000, ".", absl::Dec(whole % 1000, absl::kZeroPad3));
    return *this;
  }
  // Whole milliseconds are enough for people.
  JsonWriter& Put(absl::string_view name, Duration value) {
    return Put(name, std::round(value.seconds() * 1000) / 1000);
  }
  template <class Value>
  JsonWriter& Put(absl::string_view name, const std::optional<Value>& value) {
    if (value) return Put(name, *value);
    Name(name);
    text_ += "null";
    return *this;
  }
  // Elements of a list.
  JsonWriter& Add(double value) {
    Comma();
    Number(value);
    return *this;
  }
  JsonWriter& Add(absl::string_view value) {
    Comma();
    AppendQuoted(value, kLongestName, &text_);
    return *this;
  }

  std::string Take() && { return std::move(text_); }

 private:
  void Comma() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  void Name(absl::string_view name) {
    Comma();
    absl::StrAppend(&text_, "\"", name, "\":");
  }
  // JSON has no infinity.
  void Number(double value) {
    if (std::isfinite(value)) {
      absl::StrAppend(&text_, value);
    } else {
      text_ += "null";
    }
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_JSON_WRITER_H_
