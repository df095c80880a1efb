#include "router/openai/route/target.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

absl::string_view OriginForm(absl::string_view target) {
  const bool usual = absl::StartsWith(target, "/");
  if (!usual && (absl::StartsWithIgnoreCase(target, "http://") || absl::StartsWithIgnoreCase(target, "https://"))) {
    const size_t end = target.find_first_of("/?#", target.find("//") + 2);
    if (end == absl::string_view::npos || target[end] != '/') return "/";
    target = target.substr(end);
  }
  return target.substr(0, target.find('#'));
}

absl::string_view PathOf(absl::string_view target) {
  const absl::string_view form = OriginForm(target);
  return form.substr(0, form.find('?'));
}

std::optional<std::string> QueryParameter(absl::string_view target, absl::string_view name) {
  target = target.substr(0, target.find('#'));
  const size_t query = target.find('?');
  if (query == absl::string_view::npos) return std::nullopt;
  for (const absl::string_view pair : absl::StrSplit(target.substr(query + 1), '&')) {
    const size_t equals = std::min(pair.find('='), pair.size());
    if (PercentDecode(pair.substr(0, equals)) != name) continue;
    return PercentDecode(absl::StrReplaceAll(pair.substr(std::min(equals + 1, pair.size())), {{"+", " "}}));
  }
  return std::nullopt;
}

std::optional<std::string> PercentDecode(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
}

}  // namespace penstock
