#include "router/tracing/trace_context.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

// 00-TRACE-SPAN-FLAGS.
constexpr size_t kTraceAt = 3;
constexpr size_t kSpanAt = 36;
constexpr size_t kFlagsAt = 53;
constexpr size_t kLength = 55;
constexpr uint64_t kNoVersion = 0xff;
constexpr int kMostMembers = 32;
constexpr size_t kLongestState = 8192;
constexpr size_t kLongestKey = 256;
constexpr size_t kLongestTenant = 241;
constexpr size_t kLongestSystem = 14;
constexpr size_t kLongestValue = 256;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Lower case only. nullopt: another character.
std::optional<uint64_t> FromHex(absl::string_view text) {
  uint64_t value = 0;
  for (char c : text) {
    if (!IsDigit(c) && !(c >= 'a' && c <= 'f')) return std::nullopt;
    value = value << 4 | static_cast<uint64_t>(IsDigit(c) ? c - '0' : c - 'a' + 10);
  }
  return value;
}

bool IsKeyPart(absl::string_view text, size_t longest, bool may_begin_with_digit) {
  if (text.empty() || text.size() > longest) return false;
  if (!IsLower(text[0]) && !(may_begin_with_digit && IsDigit(text[0]))) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLower(c) || IsDigit(c) || c == '_' || c == '-' || c == '*' || c == '/'; });
}

bool IsKey(absl::string_view key) {
  const size_t at = key.find('@');
  if (at == absl::string_view::npos) return IsKeyPart(key, kLongestKey, false);
  return IsKeyPart(key.substr(0, at), kLongestTenant, true) && IsKeyPart(key.substr(at + 1), kLongestSystem, false);
}

bool IsValue(absl::string_view value) {
  return !value.empty() && value.size() <= kLongestValue &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

absl::string_view WithoutBlanks(absl::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Values that came in several fields are one list.
std::string TracestateOf(const HeaderList& headers) {
  std::string state;
  for (const auto [name, value] : headers) {
    const absl::string_view member = WithoutBlanks(value);
    if (!absl::EqualsIgnoreCase(name, kTracestate) || member.empty()) continue;
    absl::StrAppend(&state, state.empty() ? "" : ",", member);
  }
  return state;
}

}  // namespace

std::string HexOf(TraceId id) {
  return absl::StrCat(absl::Hex(id.high, absl::kZeroPad16), absl::Hex(id.low, absl::kZeroPad16));
}
std::string HexOf(SpanId id) { return absl::StrCat(absl::Hex(id.value, absl::kZeroPad16)); }

std::optional<TraceContext> ParseTraceparent(absl::string_view text) {
  if (text.size() < kLength || text[kTraceAt - 1] != '-' || text[kSpanAt - 1] != '-' || text[kFlagsAt - 1] != '-') {
    return std::nullopt;
  }
  const auto version = FromHex(text.substr(0, kTraceAt - 1));
  const auto high = FromHex(text.substr(kTraceAt, 16));
  const auto low = FromHex(text.substr(kTraceAt + 16, 16));
  const auto span = FromHex(text.substr(kSpanAt, 16));
  const auto flags = FromHex(text.substr(kFlagsAt, 2));
  if (!version || !high || !low || !span || !flags || *version == kNoVersion) return std::nullopt;
  // A later version may have more fields.
  const bool ends = text.size() == kLength || (*version > 0 && text[kLength] == '-');
  TraceContext context;
  context.trace = {*high, *low};
  context.span = {*span};
  context.flags = static_cast<uint8_t>(*flags) & (TraceContext::kSampled | TraceContext::kRandom);
  if (!ends || !context.trace.valid() || !context.span.valid()) return std::nullopt;
  return context;
}

std::string FormatTraceparent(TraceId trace, SpanId span, uint8_t flags) {
  return absl::StrCat("00-", HexOf(trace), "-", HexOf(span), "-", absl::Hex(flags, absl::kZeroPad2));
}

bool IsTracestate(absl::string_view value) {
  if (value.size() > kLongestState) return false;
  int members = 0;
  for (absl::string_view member : absl::StrSplit(value, ',')) {
    member = WithoutBlanks(member);
    if (member.empty()) continue;
    const size_t equals = member.find('=');
    if (equals == absl::string_view::npos || ++members > kMostMembers) return false;
    if (!IsKey(member.substr(0, equals)) || !IsValue(member.substr(equals + 1))) return false;
  }
  return true;
}

std::optional<TraceContext> ReadTraceContext(const HeaderList& headers) {
  std::optional<TraceContext> context;
  bool any = false;
  for (const auto [name, value] : headers) {
    if (!absl::EqualsIgnoreCase(name, kTraceparent)) continue;
    if (any) return std::nullopt;
    any = true;
    context = ParseTraceparent(WithoutBlanks(value));
  }
  if (!context) return std::nullopt;
  std::string state = TracestateOf(headers);
  if (IsTracestate(state)) context->state = std::move(state);
  return context;
}

bool IsSampled(TraceId id, double share) {
  if (share >= 1) return true;
  constexpr double kAll = 18446744073709551616.0;
  return static_cast<double>(id.low) < share * kAll;
}

}  // namespace penstock
