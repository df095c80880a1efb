// Counts of a prompt's text by kind of character, in one pass: the features that the estimate of its tokens rests on.
#ifndef PENSTOCK_KVMODEL_TEXT_COUNTS_H_
#define PENSTOCK_KVMODEL_TEXT_COUNTS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// Bytes are those of the decoded text, with JSON escapes resolved.
struct TextCounts {
  int64_t latin = 0;   // ASCII letters and Latin-1/Extended letters, bytes.
  int64_t script = 0;  // Letters of other alphabets (Greek, Cyrillic, Arabic, Indic, Thai ...), bytes.
  int64_t words = 0;   // Runs of letters. A short word is one token, independent of its length.
  int64_t digits = 0;
  int64_t space = 0;  // Spaces, tabs, line ends and control characters, bytes.
  int64_t cjk = 0;    // Chinese, Japanese and Korean characters (not bytes), their punctuation and full width included.
  int64_t other = 0;  // All other bytes: punctuation, symbols, emoji, invalid UTF-8.
  int64_t messages = 0;      // Chat messages: each costs template tokens.
  int64_t tool_bytes = 0;    // JSON bytes of tool schemas, and of what else a template may render.
  int64_t exact_tokens = 0;  // A prompt given as token ids: exact, added to the estimate of the text.

  TextCounts& operator+=(const TextCounts& other_counts);
  bool operator==(const TextCounts&) const = default;
};

// Counts decoded UTF-8 text. One pass, no allocation, about one byte per nanosecond. Invalid bytes count as `other`.
TextCounts CountText(absl::string_view utf8);
// Counts the inside of a JSON string literal (between the quotes). Equals CountText of the decoded string. A lone
// surrogate counts as U+FFFD, a broken escape as its written bytes.
TextCounts CountJsonString(absl::string_view raw);

enum class TextKind : uint8_t;

// Counts the pieces of a text in the pass of a caller. A piece ends at the end of a character.
class TextCounter {
 public:
  // Counts from `at`, inside a JSON string. Returns the first quote, backslash or control character, else `end`.
  const char* JsonPlain(const char* at, const char* end);
  // Counts UTF-8 text that is not inside a JSON string.
  void Plain(const char* at, const char* end);
  // Counts one character.
  void Character(uint32_t point);

  const TextCounts& counts() const { return counts_; }

 private:
  using Byte = unsigned char;

  template <bool kJson>
  const Byte* Text(const Byte* at, const Byte* end);
  template <bool kJson>
  const Byte* Ascii(const Byte* at, const Byte* end);
  template <bool kJson>
  const Byte* AsciiBytes(const Byte* at, const Byte* end);
  template <bool kJson>
  const Byte* AsciiBlocks(const Byte* at, const Byte* end);
  const Byte* Multibyte(const Byte* at, const Byte* end);
  void Add(TextKind kind, int bytes);

  TextCounts counts_;
  bool in_word_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_TEXT_COUNTS_H_
