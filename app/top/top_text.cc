#include "app/top/top_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "base/harmless.h"
#include "base/utf8.h"

namespace penstock::top {
namespace {

struct PointRange {
  uint32_t first;
  uint32_t last;
};

// Characters that combine with the one before.
constexpr std::array<PointRange, 4> kCombining = {
    {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};
// Characters of two columns.
constexpr std::array<PointRange, 8> kWide = {{
    {0x1100, 0x115F},
    {0x2E80, 0xA4CF},
    {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},
    {0x1F300, 0x1FAFF},
    {0x20000, 0x3FFFD},
}};

template <size_t N>
bool IsIn(const std::array<PointRange, N>& ranges, uint32_t point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [point](const PointRange& range) { return range.first <= point && point <= range.last; });
}

// Calls `visit` with each character's bytes and columns until it returns false.
template <class Visit>
void EachCharacter(absl::string_view text, Visit visit) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = at + text.size();
  while (at < end) {
    const Utf8Character next = ReadUtf8(at, end);
    const int length = std::max(1, next.length);
    const bool harmful = next.length == 0 || IsHarmful(next.point);
    const int columns = harmful ? -1 : IsIn(kCombining, next.point) ? 0 : IsIn(kWide, next.point) ? 2 : 1;
    if (!visit(absl::string_view(reinterpret_cast<const char*>(at), static_cast<size_t>(length)), columns)) return;
    at += length;
  }
}

}  // namespace

int ColumnsOf(absl::string_view text) {
  int sum = 0;
  EachCharacter(text, [&](absl::string_view, int columns) {
    sum += std::max(0, columns);
    return true;
  });
  return sum;
}

std::string Cut(absl::string_view text, int columns) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  std::string kept;
  int used = 0;
  EachCharacter(text, [&](absl::string_view bytes, int width) {
    if (used + std::max(0, width) > columns - 1) return false;
    kept += std::string(bytes);
    used += std::max(0, width);
    return true;
  });
  return columns > 0 ? kept + "~" : "";
}

std::string Fit(absl::string_view text, int columns, bool right) {
  std::string cut = Cut(text, columns);
  const std::string fill(static_cast<size_t>(std::max(0, columns - ColumnsOf(cut))), ' ');
  return right ? fill + cut : cut + fill;
}

std::string Short(double number) {
  const double size = std::abs(number);
  if (size >= 1e6) return absl::StrFormat("%.1fM", number / 1e6);
  if (size >= 1e4) return absl::StrFormat("%.1fk", number / 1e3);
  return absl::StrFormat("%.0f", number);
}

std::string Span(double seconds) {
  if (seconds < 0) return "-";
  if (seconds < 0.0995) return absl::StrFormat("%.0f ms", seconds * 1000);
  if (seconds < 9.95) return absl::StrFormat("%.1f s", seconds);
  if (seconds < 99.5) return absl::StrFormat("%.0f s", seconds);
  if (seconds < 5970) return absl::StrFormat("%.0f min", seconds / 60);
  return absl::StrFormat("%.1f h", seconds / 3600);
}

std::string Memory(double amount, bool in_bytes) {
  if (!in_bytes) return Short(amount) + " tok";
  return absl::StrFormat("%.*f GB", amount < 1e10 ? 2 : 1, amount * 1e-9);
}

}  // namespace penstock::top
