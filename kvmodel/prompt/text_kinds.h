// The kinds of characters that the estimate of a prompt's tokens tells apart.
#ifndef PENSTOCK_KVMODEL_TEXT_KINDS_H_
#define PENSTOCK_KVMODEL_TEXT_KINDS_H_

#include <cstdint>
#include <iterator>

namespace penstock {

enum class TextKind : uint8_t { kLatin, kScript, kDigit, kSpace, kCjk, kOther };

struct TextRange {
  uint32_t first;
  uint32_t last;
  TextKind kind;
};
// Code points above ASCII that are not symbols, in ascending order. All code points between the ranges are kOther.
inline constexpr TextRange kTextRanges[] = {
    {0x80, 0xA0, TextKind::kSpace},      {0xAA, 0xAA, TextKind::kLatin},      {0xB5, 0xB5, TextKind::kLatin},
    {0xBA, 0xBA, TextKind::kLatin},      {0xC0, 0xD6, TextKind::kLatin},      {0xD8, 0xF6, TextKind::kLatin},
    {0xF8, 0x36F, TextKind::kLatin},     {0x370, 0x10FF, TextKind::kScript},  {0x1100, 0x11FF, TextKind::kCjk},
    {0x1200, 0x1DFF, TextKind::kScript}, {0x1E00, 0x1EFF, TextKind::kLatin},  {0x1F00, 0x1FFF, TextKind::kScript},
    {0x2000, 0x200A, TextKind::kSpace},  {0x2028, 0x2029, TextKind::kSpace},  {0x202F, 0x202F, TextKind::kSpace},
    {0x205F, 0x205F, TextKind::kSpace},  {0x2C00, 0x2DFF, TextKind::kScript}, {0x2E80, 0xA4CF, TextKind::kCjk},
    {0xA4D0, 0xA95F, TextKind::kScript}, {0xA960, 0xA97F, TextKind::kCjk},    {0xA980, 0xABFF, TextKind::kScript},
    {0xAC00, 0xD7FF, TextKind::kCjk},    {0xF900, 0xFAFF, TextKind::kCjk},    {0xFB1D, 0xFDFF, TextKind::kScript},
    {0xFE30, 0xFE4F, TextKind::kCjk},    {0xFE70, 0xFEFE, TextKind::kScript}, {0xFF00, 0xFFEF, TextKind::kCjk},
    {0x20000, 0x3FFFF, TextKind::kCjk},
};

// The kind of a code point above ASCII. Costs a binary search over 28 ranges.
inline TextKind KindOf(uint32_t point) {
  // Common Chinese characters need no search.
  if (point >= 0x4E00 && point <= 0x9FFF) return TextKind::kCjk;
  int low = 0;
  int high = static_cast<int>(std::size(kTextRanges));
  while (low < high) {
    const int middle = (low + high) / 2;
    if (kTextRanges[middle].last < point) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const bool inside = low < static_cast<int>(std::size(kTextRanges)) && kTextRanges[low].first <= point;
  return inside ? kTextRanges[low].kind : TextKind::kOther;
}

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_TEXT_KINDS_H_
