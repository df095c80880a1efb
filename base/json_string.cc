#include "base/json_string.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/utf8.h"

namespace penstock {
namespace {

constexpr int kUnitEscape = 6;  // \uXXXX
constexpr uint32_t kReplacement = 0xFFFD;

constexpr std::array<int8_t, 256> MakeHexValues() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 10; ++i) values['0' + i] = static_cast<int8_t>(i);
  for (int i = 0; i < 6; ++i) values['a' + i] = values['A' + i] = static_cast<int8_t>(10 + i);
  return values;
}
constexpr std::array<int8_t, 256> kHexValues = MakeHexValues();

int32_t HexValue(char c) { return kHexValues[static_cast<unsigned char>(c)]; }

// The UTF-16 unit of \uXXXX at `at`, or -1.
int32_t EscapedUnit(const char* at, const char* end) {
  if (end - at < kUnitEscape || at[0] != '\\' || at[1] != 'u') return -1;
  const int32_t digits[] = {HexValue(at[2]), HexValue(at[3]), HexValue(at[4]), HexValue(at[5])};
  if ((digits[0] | digits[1] | digits[2] | digits[3]) < 0) return -1;
  return digits[0] << 12 | digits[1] << 8 | digits[2] << 4 | digits[3];
}

bool IsHigh(int32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLow(int32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

constexpr std::array<char, 256> MakeShortEscapes() {
  std::array<char, 256> characters{};
  for (const char c : {'"', '\\', '/'}) characters[static_cast<unsigned char>(c)] = c;
  characters['b'] = '\b';
  characters['f'] = '\f';
  characters['n'] = '\n';
  characters['r'] = '\r';
  characters['t'] = '\t';
  return characters;
}
constexpr std::array<char, 256> kShortEscapes = MakeShortEscapes();

// The character of a two-byte escape, or 0.
char ShortEscape(char c) { return kShortEscapes[static_cast<unsigned char>(c)]; }

// The bytes of the escape at `at`, where each half of a pair is one; 0: it is broken.
int EscapeLength(const char* at, const char* end) {
  if (end - at < 2) return 0;
  if (ShortEscape(at[1]) != 0) return 2;
  return EscapedUnit(at, end) < 0 ? 0 : kUnitEscape;
}

// Bytes on their way to a string: many appends of a few bytes each would cost more than the bytes.
class Gathered {
 public:
  explicit Gathered(std::string* out) : out_(out) {}

  // The room for one block, of which `Took` tells how much was used.
  char* Room() {
    if (used_ + kBlockBytes > bytes_.size()) Flush();
    return bytes_.data() + used_;
  }
  void Took(size_t count) { used_ += count; }
  void Flush() {
    out_->append(bytes_.data(), used_);
    used_ = 0;
  }

 private:
  std::string* out_;
  std::array<char, 32 * kBlockBytes> bytes_;
  size_t used_ = 0;
};

// Gathers the plain bytes from `at` on. Returns the first backslash, else `end`.
const char* GatherPlain(const char* at, const char* end, Gathered& gathered) {
  while (at < end && *at != '\\') {
    const auto left = std::min(static_cast<size_t>(end - at), kBlockBytes);
    char* const room = gathered.Room();
    size_t plain = 0;
    if (left == kBlockBytes) {
      std::memcpy(room, at, kBlockBytes);
      plain = FirstSet(static_cast<ByteBlock>(LoadBlock(at) == '\\'));
    } else {
      for (; plain < left && at[plain] != '\\'; ++plain) room[plain] = at[plain];
    }
    gathered.Took(plain);
    at += plain;
  }
  return at;
}

// Gathers the character of the escape at `at`. Returns its end; null where it is broken or a lone surrogate.
const char* GatherEscape(const char* at, const char* end, Gathered& gathered) {
  char* const room = gathered.Room();
  if (end - at >= 2 && ShortEscape(at[1]) != 0) {
    *room = ShortEscape(at[1]);
    gathered.Took(1);
    return at + 2;
  }
  const JsonEscape escape = ReadJsonEscape(at, end);
  if (escape.kind != JsonEscape::Kind::kCharacter) return nullptr;
  gathered.Took(static_cast<size_t>(WriteUtf8(escape.point, room)));
  return at + escape.length;
}

}  // namespace

JsonEscape ReadJsonEscape(const char* at, const char* end) {
  using Kind = JsonEscape::Kind;
  if (end - at < 2) return {};
  if (at[1] != 'u') {
    const char point = ShortEscape(at[1]);
    return point == 0 ? JsonEscape() : JsonEscape{Kind::kCharacter, 2, static_cast<uint32_t>(point)};
  }
  const int32_t unit = EscapedUnit(at, end);
  if (unit < 0) return {};
  if (!IsHigh(unit) && !IsLow(unit)) return {Kind::kCharacter, kUnitEscape, static_cast<uint32_t>(unit)};
  const int32_t low = IsHigh(unit) ? EscapedUnit(at + kUnitEscape, end) : -1;
  if (!IsLow(low)) return {Kind::kLone, kUnitEscape, kReplacement};
  return {Kind::kCharacter, 2 * kUnitEscape, static_cast<uint32_t>(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))};
}

bool AppendUnescaped(absl::string_view inside, std::string* out) {
  const size_t plain = std::min(inside.find('\\'), inside.size());
  out->append(inside.data(), plain);
  const char* const end = inside.data() + inside.size();
  const char* at = inside.data() + plain;
  if (at == end) return true;
  Gathered gathered(out);
  while (at != nullptr && at < end) {
    at = *at == '\\' ? GatherEscape(at, end, gathered) : GatherPlain(at, end, gathered);
  }
  gathered.Flush();
  return at != nullptr;
}

bool EscapesAreWhole(absl::string_view inside) {
  const char* at = inside.data();
  const char* const end = at + inside.size();
  while (end - at >= static_cast<std::ptrdiff_t>(kBlockBytes)) {
    // Most escapes stand for a line break or a quote.
    if (*at == '\\' && ShortEscape(at[1]) != 0) {
      at += 2;
      continue;
    }
    uint32_t escapes = HighBits(static_cast<ByteBlock>(LoadBlock(at) == '\\'));
    size_t next = kBlockBytes;
    while (escapes != 0) {
      const auto begin = static_cast<size_t>(std::countr_zero(escapes));
      const int length = EscapeLength(at + begin, end);
      if (length == 0) return false;
      const size_t after = begin + static_cast<size_t>(length);
      next = std::max(after, kBlockBytes);
      escapes &= ~uint32_t{0} << after;
    }
    at += next;
  }
  while (at < end) {
    const int length = *at == '\\' ? EscapeLength(at, end) : 1;
    if (length == 0) return false;
    at += length;
  }
  return true;
}

void AppendJsonEscaped(absl::string_view text, std::string* out) {
  constexpr absl::string_view kShort = "btn?fr";  // For the characters 8 to 13.
  constexpr absl::string_view kHex = "0123456789abcdef";
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    const char* const stop = SkipPlainJson(at, end);
    out->append(at, stop);
    if (stop == end) return;
    const auto c = static_cast<unsigned char>(*stop);
    at = stop + 1;
    out->push_back('\\');
    if (c >= ' ') {
      out->push_back(*stop);
    } else if (c >= 8 && c <= 13 && c != 11) {
      out->push_back(kShort[c - 8]);
    } else {
      out->append("u00");
      out->push_back(kHex[c >> 4]);
      out->push_back(kHex[c & 15]);
    }
  }
}

std::string UnescapeJson(absl::string_view inside) {
  std::string text;
  text.reserve(inside.size());
  return AppendUnescaped(inside, &text) ? text : std::string(inside);
}

}  // namespace penstock
