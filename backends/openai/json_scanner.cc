#include "backends/openai/json_scanner.h"

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"

namespace penstock {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;

// Non-zero if any byte of `word` is zero; exact for that question.
constexpr uint64_t HasZero(uint64_t word) { return (word - kOnes) & ~word & kHighBits; }
// Non-zero if any byte is a quote, a backslash or a control character.
constexpr uint64_t NeedsLook(uint64_t word) {
  return HasZero(word ^ (kOnes * '"')) | HasZero(word ^ (kOnes * '\\')) | ((word - kOnes * 0x20) & ~word & kHighBits);
}

bool NumberCharacter(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

}  // namespace

bool JsonScanner::TakeString(absl::string_view* raw) {
  if (Peek() != '"') return false;
  const char* const start = ++at_;
  while (true) {
    uint64_t word;
    while (end_ - at_ >= 8) {
      std::memcpy(&word, at_, 8);
      if (NeedsLook(word)) break;
      at_ += 8;
    }
    while (at_ < end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) ++at_;
    if (at_ == end_) return false;
    if (*at_ == '"') {
      *raw = absl::string_view(start, static_cast<size_t>(at_ - start));
      ++at_;
      return true;
    }
    if (*at_ != '\\' || end_ - at_ < 2) return false;
    at_ += 2;
  }
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
  const absl::string_view rest(at_, static_cast<size_t>(end_ - at_));
  for (const absl::string_view literal :
       {absl::string_view("null"), absl::string_view("true"), absl::string_view("false")}) {
    if (rest.substr(0, literal.size()) != literal) continue;
    at_ += literal.size();
    return true;
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
  if (text.find('\\') == absl::string_view::npos) {
    out->assign(text.data(), text.size());
    return true;
  }
  const auto plain = nlohmann::json::parse(text.data() - 1, text.data() + text.size() + 1, nullptr, false);
  if (!plain.is_string()) return false;
  *out = plain.get<std::string>();
  return true;
}

bool JsonScanner::CopyInt(int64_t* out) {
  absl::string_view raw;
  if (!TakeRaw(&raw)) return false;
  int64_t number = 0;
  if (absl::SimpleAtoi(raw, &number) && raw[0] != '"') *out = number;
  return true;
}

}  // namespace penstock
