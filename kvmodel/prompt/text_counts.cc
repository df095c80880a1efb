#include "kvmodel/prompt/text_counts.h"

#include <array>

#include "base/byte_block.h"
#include "base/json_string.h"
#include "base/utf8.h"
#include "kvmodel/prompt/text_kinds.h"

namespace penstock {

namespace {

using Kind = TextKind;

// ASCII is counted in 16-bit lanes of one word: latin, digits, space, other. One load and one add per byte.
constexpr int kDigitLane = 16;
constexpr int kSpaceLane = 32;
constexpr int kOtherLane = 48;
constexpr size_t kLaneCapacity = 65'535;

constexpr bool IsAsciiLetter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr std::array<uint64_t, 256> MakeLanes() {
  std::array<uint64_t, 256> lanes{};
  for (int c = 0; c < 256; ++c) {
    if (IsAsciiLetter(c)) {
      lanes[c] = 1;
    } else if (c >= '0' && c <= '9') {
      lanes[c] = uint64_t{1} << kDigitLane;
    } else if (c <= ' ' || c == 0x7F) {
      lanes[c] = uint64_t{1} << kSpaceLane;
    } else {
      lanes[c] = uint64_t{1} << kOtherLane;
    }
  }
  return lanes;
}
constexpr std::array<uint64_t, 256> kLanes = MakeLanes();

ByteBlock Letters(ByteBlock bytes) { return static_cast<ByteBlock>(static_cast<ByteBlock>((bytes | 0x20) - 'a') < 26); }

}  // namespace

TextCounts& TextCounts::operator+=(const TextCounts& other_counts) {
  latin += other_counts.latin;
  script += other_counts.script;
  words += other_counts.words;
  digits += other_counts.digits;
  space += other_counts.space;
  cjk += other_counts.cjk;
  other += other_counts.other;
  messages += other_counts.messages;
  tool_bytes += other_counts.tool_bytes;
  exact_tokens += other_counts.exact_tokens;
  return *this;
}

// Counts plain ASCII from `at`. Returns the end, or the first byte above ASCII or, in JSON, the first special byte.
template <bool kJson>
const TextCounter::Byte* TextCounter::Ascii(const Byte* at, const Byte* end) {
  // A block looks at the byte before it, which has to belong to this run.
  const Byte* const first = at;
  at = AsciiBytes<kJson>(at, end - at < 1 ? end : at + 1);
  if (at == first) return at;
  return AsciiBytes<kJson>(AsciiBlocks<kJson>(at, end), end);
}

template <bool kJson>
const TextCounter::Byte* TextCounter::AsciiBytes(const Byte* at, const Byte* end) {
  uint64_t lanes = 0;
  uint64_t starts = 0;
  uint64_t previous = in_word_ ? 1 : 0;
  if (end - at > static_cast<std::ptrdiff_t>(kLaneCapacity)) end = at + kLaneCapacity;
  while (at < end && *at < 0x80 && !(kJson && EndsJsonText(*at))) {
    const uint64_t lane = kLanes[*at++];
    const uint64_t letter = lane & 1;
    lanes += lane;
    starts += letter & ~previous;
    previous = letter;
  }
  in_word_ = previous != 0;
  counts_.latin += static_cast<int64_t>(lanes & kLaneCapacity);
  counts_.digits += static_cast<int64_t>(lanes >> kDigitLane & kLaneCapacity);
  counts_.space += static_cast<int64_t>(lanes >> kSpaceLane & kLaneCapacity);
  counts_.other += static_cast<int64_t>(lanes >> kOtherLane & kLaneCapacity);
  counts_.words += static_cast<int64_t>(starts);
  return at;
}

const TextCounter::Byte* TextCounter::Multibyte(const Byte* at, const Byte* end) {
  const Utf8Character character = ReadUtf8(at, end);
  if (character.length == 0) {
    Add(Kind::kOther, 1);
    return at + 1;
  }
  Add(KindOf(character.point), character.length);
  return at + character.length;
}

void TextCounter::Character(uint32_t point) {
  if (point >= 0x80) return Add(KindOf(point), Utf8Length(point));
  const auto byte = static_cast<unsigned char>(point);
  Ascii<false>(&byte, &byte + 1);
}

// Counts the whole blocks of a run that has begun before `at`. Byte lanes count up to 255 and are then emptied.
template <bool kJson>
const TextCounter::Byte* TextCounter::AsciiBlocks(const Byte* at, const Byte* end) {
  while (end - at >= static_cast<std::ptrdiff_t>(kBlockBytes)) {
    ByteBlock latin{};
    ByteBlock digits{};
    ByteBlock space{};
    ByteBlock starts{};
    int blocks = 0;
    for (; blocks < 255 && end - at >= static_cast<std::ptrdiff_t>(kBlockBytes); ++blocks, at += kBlockBytes) {
      const ByteBlock bytes = LoadBlock(at);
      if (HighBits(kJson ? bytes | EndsJsonText(bytes) : bytes) != 0) break;
      const ByteBlock letter = Letters(bytes);
      latin -= letter;
      digits -= static_cast<ByteBlock>(static_cast<ByteBlock>(bytes - '0') < 10);
      space -= static_cast<ByteBlock>((bytes <= ' ') | (bytes == 0x7F));
      starts -= letter & ~Letters(LoadBlock(at - 1));
    }
    if (blocks == 0) break;
    in_word_ = IsAsciiLetter(*(at - 1));
    const int64_t letters = SumOfBytes(latin);
    const int64_t numerals = SumOfBytes(digits);
    const int64_t blanks = SumOfBytes(space);
    counts_.latin += letters;
    counts_.digits += numerals;
    counts_.space += blanks;
    counts_.other += blocks * static_cast<int64_t>(kBlockBytes) - letters - numerals - blanks;
    counts_.words += SumOfBytes(starts);
  }
  return at;
}

void TextCounter::Add(Kind kind, int bytes) {
  const bool letter = kind == Kind::kLatin || kind == Kind::kScript;
  if (letter && !in_word_) ++counts_.words;
  in_word_ = letter;
  switch (kind) {
    case Kind::kLatin:
      counts_.latin += bytes;
      break;
    case Kind::kScript:
      counts_.script += bytes;
      break;
    case Kind::kDigit:
      counts_.digits += bytes;
      break;
    case Kind::kSpace:
      counts_.space += bytes;
      break;
    case Kind::kCjk:
      ++counts_.cjk;
      break;
    case Kind::kOther:
      counts_.other += bytes;
      break;
  }
}

// Counts text of any characters; in JSON up to the first special byte.
template <bool kJson>
const TextCounter::Byte* TextCounter::Text(const Byte* at, const Byte* end) {
  while ((at = Ascii<kJson>(at, end)) < end && *at >= 0x80) at = Multibyte(at, end);
  return at;
}

const char* TextCounter::JsonPlain(const char* at, const char* end) {
  return reinterpret_cast<const char*>(
      Text<true>(reinterpret_cast<const Byte*>(at), reinterpret_cast<const Byte*>(end)));
}

void TextCounter::Plain(const char* from, const char* to) {
  const auto* at = reinterpret_cast<const Byte*>(from);
  const auto* const end = reinterpret_cast<const Byte*>(to);
  while (at < end) at = Text<false>(at, end);
}

TextCounts CountText(absl::string_view utf8) {
  TextCounter counter;
  counter.Plain(utf8.data(), utf8.data() + utf8.size());
  return counter.counts();
}

TextCounts CountJsonString(absl::string_view raw) {
  TextCounter counter;
  const char* at = raw.data();
  const char* const end = at + raw.size();
  while ((at = counter.JsonPlain(at, end)) < end) {
    if (*at != '\\') {
      counter.Character(static_cast<unsigned char>(*at++));
      continue;
    }
    const JsonEscape escape = ReadJsonEscape(at, end);
    counter.Character(escape.point);
    at += escape.length;
  }
  return counter.counts();
}

}  // namespace penstock
