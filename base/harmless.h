// Makes texts of clients, engines and files harmless for a terminal. Pure.
//
// Harmful are control characters, marks of direction, line ends of Unicode, characters without a width, and bytes that
// are not UTF-8. All harmful characters are below U+10000.
#ifndef PENSTOCK_BASE_HARMLESS_H_
#define PENSTOCK_BASE_HARMLESS_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/utf8.h"

namespace penstock {

constexpr bool IsHarmful(uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point <= 0x9F) || point == 0x061C || (point >= 0x200B && point <= 0x200F) ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF;
}

// Calls visit(bytes, character) for each character. One that is not UTF-8 has the length 0, and one byte.
template <class Visit>
void EachUtf8(absl::string_view text, Visit visit) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = at + text.size();
  while (at < end) {
    const Utf8Character next = ReadUtf8(at, end);
    const int length = std::max(1, next.length);
    visit(absl::string_view(reinterpret_cast<const char*>(at), static_cast<size_t>(length)), next);
    at += length;
  }
}

// The text with '?' for everything harmful. The characters of `spared`, such as "\n", stay.
inline std::string Harmless(absl::string_view text, absl::string_view spared = "") {
  std::string clean;
  clean.reserve(text.size());
  EachUtf8(text, [&](absl::string_view bytes, const Utf8Character& next) {
    const bool stays = bytes.size() == 1 && spared.find(bytes.front()) != absl::string_view::npos;
    const bool harmful = next.length == 0 || IsHarmful(next.point);
    if (harmful && !stays) {
      clean += '?';
    } else {
      clean.append(bytes.data(), bytes.size());
    }
  });
  return clean;
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_HARMLESS_H_
