#include "backends/simulated/machine/tokenizer.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "backends/simulated/machine/mix.h"
#include "base/utf8.h"

namespace penstock::simulated {
namespace {

enum class Kind : uint8_t { kLetter, kDigit, kSpace, kMark, kHigh };

constexpr std::array<Kind, 256> MakeKinds() {
  std::array<Kind, 256> kinds{};
  for (int byte = 0; byte < 256; ++byte) {
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    const bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
    const bool digit = byte >= '0' && byte <= '9';
    kinds[byte] = byte >= 0x80 ? Kind::kHigh
                  : letter     ? Kind::kLetter
                  : digit      ? Kind::kDigit
                  : space      ? Kind::kSpace
                               : Kind::kMark;
  }
  return kinds;
}
constexpr std::array<Kind, 256> kKinds = MakeKinds();

constexpr Kind KindOf(char c) { return kKinds[static_cast<unsigned char>(c)]; }

// The length of the run of `kind` at `from`, at most `most`.
size_t RunOf(Kind kind, std::string_view text, size_t from, size_t most) {
  size_t end = from;
  while (end < text.size() && end - from < most && KindOf(text[end]) == kind) ++end;
  return end - from;
}

// The bytes of the first UTF-8 character. A stray byte counts as one character.
size_t CharacterLength(std::string_view text) {
  const auto* const at = reinterpret_cast<const unsigned char*>(text.data());
  const int length = ReadUtf8(at, at + text.size()).length;
  return length == 0 ? 1 : static_cast<size_t>(length);
}

size_t HighLength(std::string_view text) {
  const size_t first = CharacterLength(text);
  if (first != 2 || text.size() < 4 || KindOf(text[2]) != Kind::kHigh) return first;
  return CharacterLength(text.substr(2)) == 2 ? 4 : 2;
}

constexpr size_t MostOf(Kind kind) { return kind == Kind::kLetter ? 6 : 3; }

constexpr int kLengthShift = 49;
constexpr TokenId kHighFlag = TokenId{1} << 52;

}  // namespace

std::string_view NextPiece(std::string_view text) {
  assert(!text.empty());
  const Kind kind = KindOf(text[0]);
  if (kind == Kind::kHigh) return text.substr(0, HighLength(text));
  if (kind != Kind::kSpace) return text.substr(0, RunOf(kind, text, 0, MostOf(kind)));
  const size_t run = RunOf(Kind::kSpace, text, 0, 8);
  const bool before_word = run < text.size() && text[run - 1] == ' ' && KindOf(text[run]) != Kind::kHigh &&
                           KindOf(text[run]) != Kind::kSpace;
  if (!before_word) return text.substr(0, std::min<size_t>(run, 7));
  // The last space of a run belongs to the word after it.
  if (run > 1) return text.substr(0, run - 1);
  const Kind word = KindOf(text[1]);
  return text.substr(0, 1 + RunOf(word, text, 1, MostOf(word)));
}

TokenId IdOf(std::string_view piece) {
  assert(!piece.empty() && piece.size() <= 7);
  const bool high = std::any_of(piece.begin(), piece.end(), [](char c) { return KindOf(c) == Kind::kHigh; });
  const int bits = high ? 8 : 7;
  TokenId id = static_cast<TokenId>(piece.size()) << kLengthShift;
  if (high) id |= kHighFlag;
  for (size_t i = 0; i < piece.size(); ++i) {
    id |= static_cast<TokenId>(static_cast<unsigned char>(piece[i])) << (bits * static_cast<int>(i));
  }
  return id;
}

std::string TextOf(TokenId id) {
  if (id < 0 || id >= kHighFlag << 1) return {};
  const bool high = (id & kHighFlag) != 0;
  const auto length = static_cast<size_t>(id >> kLengthShift & 7);
  const int bits = high ? 8 : 7;
  if (high && length > 4) return {};
  std::string text(length, '\0');
  for (size_t i = 0; i < length; ++i) {
    text[i] = static_cast<char>(id >> (bits * static_cast<int>(i)) & (high ? 0xff : 0x7f));
  }
  return text;
}

void Tokenize(std::string_view text, std::vector<TokenId>& ids) {
  while (!text.empty()) {
    const std::string_view piece = NextPiece(text);
    ids.push_back(IdOf(piece));
    text.remove_prefix(piece.size());
  }
}

Tokens CountTokens(std::string_view text) {
  int64_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(NextPiece(text).size());
  return Tokens(count);
}

void PromptReader::Add(TokenId id) {
  hash_ = Mix(hash_, static_cast<uint64_t>(id));
  if (++count_ % block_ == 0) blocks_.push_back(hash_);
}

void PromptReader::AddText(std::string_view text) {
  while (!text.empty()) {
    const std::string_view piece = NextPiece(text);
    Add(IdOf(piece));
    text.remove_prefix(piece.size());
  }
}

}  // namespace penstock::simulated
