// What a prompt's text is made of: the bytes that the estimate of its tokens rests on, counted in one pass.
#ifndef PENSTOCK_KVMODEL_TEXT_COUNTS_H_
#define PENSTOCK_KVMODEL_TEXT_COUNTS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// What a prompt is made of. Bytes are of decoded text (JSON escapes resolved).
struct TextCounts {
  int64_t latin = 0;   // ASCII letters and Latin-1/Extended letters, bytes.
  int64_t script = 0;  // Letters of other alphabets (Greek, Cyrillic, Arabic, Indic, Thai ...), bytes.
  int64_t words = 0;   // Runs of letters: short words are one token whatever their length.
  int64_t digits = 0;
  int64_t space = 0;       // Spaces, tabs, line ends and control characters, bytes.
  int64_t cjk = 0;         // Characters (not bytes) of Chinese, Japanese, Korean, punctuation and full width included.
  int64_t other = 0;       // All other bytes: punctuation, symbols, emoji, what is not UTF-8.
  int64_t messages = 0;    // Chat messages: each costs template tokens.
  int64_t tool_bytes = 0;  // JSON bytes of tool schemas.
  int64_t images = 0;
  int64_t image_tokens = 0;     // Known from the image rule of the model, else 0.
  int64_t exact_tokens = 0;     // Prompt given as token ids: exact, added to the estimate of the text.
  bool unforecastable = false;  // Audio, video or remote images: the band is wide.

  TextCounts& operator+=(const TextCounts& other_counts);
  bool operator==(const TextCounts&) const = default;
};

// Counts decoded UTF-8 text. One pass, no allocation, about one byte per nanosecond. Bytes that are not UTF-8 count as
// `other`.
TextCounts CountText(absl::string_view utf8);
// Counts the inside of a JSON string literal (between the quotes), resolving escapes on the way: equals CountText of
// the decoded string. A lone surrogate counts as U+FFFD; a broken escape as the bytes it is written with.
TextCounts CountJsonString(absl::string_view raw);

enum class TextKind : uint8_t;

// The same for whoever scans JSON: the pieces of a string are counted where the scan finds them, in its one pass.
class TextCounter {
 public:
  // Counts from `at`, inside a JSON string, up to what is returned: a quote, a backslash, a control character or `end`.
  const char* JsonPlain(const char* at, const char* end);
  // Counts the escape whose backslash is at `at` and returns what is behind it.
  const char* JsonEscape(const char* at, const char* end);

  const TextCounts& counts() const { return counts_; }

 private:
  friend TextCounts CountText(absl::string_view utf8);
  friend TextCounts CountJsonString(absl::string_view raw);
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
  void Point(uint32_t point);
  void Add(TextKind kind, int bytes);

  TextCounts counts_;
  bool in_word_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_TEXT_COUNTS_H_
