#include "router/multipart/header_parameters.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/openai/route/target.h"

namespace penstock {
namespace {

// Takes a quoted text from the front. Browsers write a quote as %22, others as \". A backslash before another character
// stands for itself: some clients send the folders of Windows.
std::optional<std::string> TakeQuoted(absl::string_view& text) {
  std::string inside;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return inside;
    }
    const bool escape = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
    inside.push_back(text[escape ? ++i : i]);
  }
  return std::nullopt;
}

}  // namespace

HeaderParameters::HeaderParameters(absl::string_view header) {
  const size_t first = std::min(header.find(';'), header.size());
  value_ = absl::StripAsciiWhitespace(header.substr(0, first));
  header.remove_prefix(first);
  while (!header.empty() && header.front() == ';' && parameters_.size() < kMaxParameters) {
    header = absl::StripLeadingAsciiWhitespace(header.substr(1));
    const size_t equals = header.find_first_of("=;");
    if (equals == absl::string_view::npos || header[equals] == ';') return;
    const absl::string_view name = absl::StripTrailingAsciiWhitespace(header.substr(0, equals));
    header = absl::StripLeadingAsciiWhitespace(header.substr(equals + 1));
    std::optional<std::string> value;
    if (!header.empty() && header.front() == '"') {
      value = TakeQuoted(header);
      header = absl::StripLeadingAsciiWhitespace(header);
    } else {
      const size_t end = std::min(header.find(';'), header.size());
      value = std::string(absl::StripTrailingAsciiWhitespace(header.substr(0, end)));
      header.remove_prefix(end);
    }
    if (!value) return;
    parameters_.emplace_back(std::string(name), *std::move(value));
  }
}

std::optional<std::string> HeaderParameters::Find(absl::string_view name) const {
  const auto is_it = [name](const auto& parameter) { return absl::EqualsIgnoreCase(parameter.first, name); };
  const auto found = std::find_if(parameters_.begin(), parameters_.end(), is_it);
  return found == parameters_.end() ? std::nullopt : std::optional<std::string>(found->second);
}

std::optional<std::string> HeaderParameters::FindExtended(absl::string_view name) const {
  constexpr absl::string_view kCharset = "utf-8'";
  const std::optional<std::string> extended = Find(absl::StrCat(name, "*"));
  if (extended && absl::StartsWithIgnoreCase(*extended, kCharset)) {
    const size_t language = extended->find('\'', kCharset.size());
    if (language != std::string::npos) {
      if (auto text = PercentDecode(absl::string_view(*extended).substr(language + 1))) return text;
    }
  }
  return Find(name);
}

}  // namespace penstock
