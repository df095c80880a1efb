// Reads and writes one UTF-8 character. The only UTF-8 reader of the program.
//
// Pure and inline: text is counted character by character. A whole text is checked by simdjson where the layer has it.
#ifndef PENSTOCK_BASE_UTF8_H_
#define PENSTOCK_BASE_UTF8_H_

#include <cstdint>
#include <string>

namespace penstock {

struct Utf8Character {
  uint32_t point = 0;
  int length = 0;  // In bytes. 0: not UTF-8.
};

// True for the second and later bytes of a character.
constexpr bool ContinuesUtf8(unsigned char c) { return (c & 0xC0) == 0x80; }

constexpr int Utf8Length(uint32_t point) { return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4; }

// The character at `at`, which is before `end`. Overlong forms, surrogates, points above U+10FFFF and a character that
// `end` cuts are not UTF-8.
constexpr Utf8Character ReadUtf8(const unsigned char* at, const unsigned char* end) {
  const unsigned char lead = *at;
  if (lead < 0x80) return {lead, 1};
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || end - at < length) return {};
  uint32_t point = lead & (0xFFu >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if (!ContinuesUtf8(at[i])) return {};
    point = point << 6 | (at[i] & 0x3Fu);
  }
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (Utf8Length(point) != length || surrogate || point > 0x10FFFF) return {};
  return {point, length};
}

// Writes the character to `to`, which has room for four bytes, and returns its length. `point` is at most U+10FFFF.
inline int WriteUtf8(uint32_t point, char* to) {
  const int length = Utf8Length(point);
  if (length == 1) {
    *to = static_cast<char>(point);
    return 1;
  }
  const uint32_t mark = 0xF00u >> length & 0xFFu;
  *to++ = static_cast<char>(mark | point >> (6 * (length - 1)));
  for (int shift = 6 * (length - 2); shift >= 0; shift -= 6) {
    *to++ = static_cast<char>(0x80u | (point >> shift & 0x3Fu));
  }
  return length;
}

// `point` is at most U+10FFFF.
inline void AppendUtf8(uint32_t point, std::string* out) {
  char bytes[4];
  out->append(bytes, static_cast<size_t>(WriteUtf8(point, bytes)));
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_UTF8_H_
