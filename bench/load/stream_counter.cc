#include "bench/load/stream_counter.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace penstock::bench {
namespace {

// An engine that sends a line without end must not fill the memory.
constexpr size_t kMaxLine = 16 << 20;

// The raw value after `"key":`, from `from` on; empty when the key is not there. Keys inside JSON strings have escaped
// quotes and do not match.
absl::string_view ValueAfter(absl::string_view line, absl::string_view quoted_key, size_t& from) {
  while (true) {
    const size_t found = line.find(quoted_key, from);
    if (found == absl::string_view::npos) return from = line.size(), absl::string_view();
    from = found + quoted_key.size();
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.substr(from));
    if (absl::ConsumePrefix(&rest, ":")) return absl::StripLeadingAsciiWhitespace(rest);
  }
}

std::optional<int64_t> NumberAfter(absl::string_view line, absl::string_view quoted_key) {
  size_t from = 0;
  const absl::string_view value = ValueAfter(line, quoted_key, from);
  int64_t number = 0;
  if (!absl::SimpleAtoi(value.substr(0, value.find_first_not_of("0123456789")), &number)) return std::nullopt;
  return number;
}

bool HasNonEmptyString(absl::string_view line, absl::string_view quoted_key) {
  for (size_t from = 0; from < line.size();) {
    const absl::string_view value = ValueAfter(line, quoted_key, from);
    if (value.size() > 1 && value[0] == '"' && value[1] != '"') return true;
  }
  return false;
}

// `content` first: it decides nearly every event.
bool HasText(absl::string_view line) {
  constexpr std::array<absl::string_view, 5> kTextKeys = {"\"content\"", "\"reasoning_content\"", "\"reasoning\"",
                                                          "\"text\"", "\"arguments\""};
  for (absl::string_view key : kTextKeys) {
    if (HasNonEmptyString(line, key)) return true;
  }
  return false;
}

}  // namespace

int64_t StreamCounter::Feed(absl::string_view bytes) {
  int64_t texts = 0;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == absl::string_view::npos) {
      if (rest_.size() + bytes.size() <= kMaxLine) rest_.append(bytes.data(), bytes.size());
      break;
    }
    if (rest_.empty()) {
      texts += ReadLine(bytes.substr(0, end));
    } else {
      rest_.append(bytes.data(), end);
      texts += ReadLine(rest_);
      rest_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  return texts;
}

int64_t StreamCounter::ReadLine(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "data:")) return 0;
  line = absl::StripAsciiWhitespace(line);
  if (line == "[DONE]") return done_ = true, 0;
  size_t from = 0;
  if (!absl::StrContains(line, "\"choices\"")) {
    if (!ValueAfter(line, "\"error\"", from).empty()) error_.assign(line.data(), line.size());
    return 0;
  }
  const absl::string_view reason = ValueAfter(line, "\"finish_reason\"", from);
  if (!reason.empty() && reason[0] == '"') {
    const absl::string_view text = reason.substr(1, reason.find('"', 1) - 1);
    finish_reason_.assign(text.data(), text.size());
  }
  if (const std::optional<int64_t> prompt = NumberAfter(line, "\"prompt_tokens\"")) prompt_tokens_ = prompt;
  int64_t tokens = HasText(line) ? 1 : 0;
  tokens = std::max(tokens, NumberAfter(line, "\"completion_tokens\"").value_or(0) - counted_);
  counted_ += tokens;
  return tokens;
}

}  // namespace penstock::bench
