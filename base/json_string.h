// Reads and writes the inside of a JSON string literal. The only reader of JSON escapes in the program. Pure.
#ifndef PENSTOCK_BASE_JSON_STRING_H_
#define PENSTOCK_BASE_JSON_STRING_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/byte_block.h"

namespace penstock {

// One escape of a JSON string.
struct JsonEscape {
  enum class Kind : uint8_t {
    kCharacter,  // It stands for `point`. A surrogate pair is one escape.
    kLone,       // A surrogate without its other half. `point` is U+FFFD.
    kBroken,     // No escape. `length` is 1, and `point` the backslash.
  };
  Kind kind = Kind::kBroken;
  int length = 1;  // In bytes, from the backslash.
  uint32_t point = '\\';
};

// The escape whose backslash is at `at`. Reads nothing at or behind `end`.
JsonEscape ReadJsonEscape(const char* at, const char* end);

// The end of the plain characters at `at`: the first quote, backslash or control character, else `end`.
inline const char* SkipPlainJson(const char* at, const char* end) {
  for (; end - at >= static_cast<std::ptrdiff_t>(kBlockBytes); at += kBlockBytes) {
    const size_t plain = FirstSet(EndsJsonText(LoadBlock(at)));
    if (plain < kBlockBytes) return at + plain;
  }
  while (at < end && !EndsJsonText(static_cast<unsigned char>(*at))) ++at;
  return at;
}

// Appends the text of the inside of a literal. False, with a part of the text appended, when an escape is broken or a
// surrogate is alone. Does not check UTF-8.
bool AppendUnescaped(absl::string_view inside, std::string* out);

// True: the inside of a literal has no broken escape. A lone half of a surrogate pair is whole: the other half may
// begin the next text. O(text).
bool EscapesAreWhole(absl::string_view inside);

// Appends `text` as the inside of a literal. Does not check UTF-8.
void AppendJsonEscaped(absl::string_view text, std::string* out);

// The text of the inside of a literal; the inside itself when it has a broken escape or a lone surrogate.
std::string UnescapeJson(absl::string_view inside);

}  // namespace penstock

#endif  // PENSTOCK_BASE_JSON_STRING_H_
