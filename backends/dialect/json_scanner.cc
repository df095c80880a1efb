#include "backends/dialect/json_scanner.h"

#include <algorithm>
#include <bit>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/byte_block.h"
#include "base/json_string.h"

namespace penstock {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool NumberCharacter(char c) { return IsDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

// The bytes of a block that backslashes before them escape. A run escapes every second byte from its second on.
// `carried` is 1 where the first byte is escaped by the block before it. It becomes 1 where this block escapes the
// next.
uint32_t EscapedBytes(uint32_t backslashes, uint32_t& carried) {
  constexpr uint32_t kEven = 0x5555;
  backslashes &= ~carried;
  const uint32_t after = backslashes << 1 | carried;
  const uint32_t odd_starts = backslashes & ~kEven & ~after;
  // Adding its start to a run leaves a bit behind its end.
  const uint32_t from_even = odd_starts + backslashes;
  carried = from_even >> kBlockBytes & 1;
  return (kEven ^ from_even << 1) & after;
}

// The end of the string whose inside is at `at`: the first quote or control character that is not escaped, else `end`.
// O(bytes), whatever the escapes.
const char* EndOfString(const char* at, const char* end) {
  // Most texts have no escape.
  at = SkipPlainJson(at, end);
  if (at == end || *at != '\\') return at;
  uint32_t carried = 0;
  for (; end - at >= static_cast<std::ptrdiff_t>(kBlockBytes); at += kBlockBytes) {
    const ByteBlock bytes = LoadBlock(at);
    const uint32_t special = HighBits(EndsJsonText(bytes));
    if ((special | carried) == 0) continue;
    const uint32_t backslashes = HighBits(static_cast<ByteBlock>(bytes == '\\'));
    const uint32_t ends = special & ~backslashes & ~EscapedBytes(backslashes, carried);
    if (ends != 0) return at + std::countr_zero(ends);
  }
  at = std::min(at + carried, end);
  while (at < end && (*at == '\\' || !EndsJsonText(static_cast<unsigned char>(*at)))) at += *at == '\\' ? 2 : 1;
  return std::min(at, end);
}

}  // namespace

bool JsonScanner::TakeString(absl::string_view* raw) {
  if (Peek() != '"') return false;
  const char* const start = ++at_;
  at_ = EndOfString(at_, end_);
  if (at_ == end_ || *at_ != '"') return false;
  *raw = absl::string_view(start, static_cast<size_t>(at_ - start));
  ++at_;
  return true;
}

bool JsonScanner::SkipWhole(absl::string_view firsts) {
  SkipSpace();
  if (at_ == end_ || firsts.find(Peek()) == absl::string_view::npos || !Skip()) return false;
  SkipSpace();
  return at_ == end_;
}

bool JsonScanner::Skip() {
  absl::string_view ignored;
  switch (Peek()) {
    case '"':
      return TakeString(&ignored);
    case '{':
      return ForEachMember([this](absl::string_view) { return Skip(); });
    case '[':
      return ForEachElement([this] { return Skip(); });
    default:
      return SkipScalar();
  }
}

bool JsonScanner::SkipScalar() {
  const char first = Peek();
  if (first == 'n' || first == 't' || first == 'f') {
    const absl::string_view literal = first == 'n' ? "null" : first == 't' ? "true" : "false";
    const absl::string_view rest(at_, static_cast<size_t>(end_ - at_));
    at_ += std::min(literal.size(), rest.size());
    return absl::StartsWith(rest, literal);
  }
  const char* const start = at_;
  while (at_ < end_ && NumberCharacter(*at_)) ++at_;
  return at_ != start;
}

bool JsonScanner::TakeRaw(absl::string_view* raw) {
  const char* const start = at_;
  if (!Skip()) return false;
  *raw = absl::string_view(start, static_cast<size_t>(at_ - start));
  return true;
}

bool JsonScanner::CopyString(std::string* out) {
  if (Peek() != '"') return Skip();
  absl::string_view text;
  if (!TakeString(&text)) return false;
  out->clear();
  return AppendUnescaped(text, out);
}

bool JsonScanner::CopyInt(int64_t* out) {
  // Token counts have a few digits.
  constexpr std::ptrdiff_t kShort = 18;
  const char* digit = at_;
  int64_t plain = 0;
  while (digit < end_ && digit - at_ < kShort && IsDigit(*digit)) plain = plain * 10 + (*digit++ - '0');
  if (digit > at_ && digit < end_ && *at_ != '0' && !NumberCharacter(*digit)) {
    at_ = digit;
    *out = plain;
    return true;
  }
  absl::string_view raw;
  if (!TakeRaw(&raw)) return false;
  int64_t number = 0;
  if (absl::SimpleAtoi(raw, &number) && raw[0] != '"') *out = number;
  return true;
}

}  // namespace penstock
