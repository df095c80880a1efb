#include "backends/dialect/usage_reader.h"

#include <algorithm>

namespace penstock {

namespace {

// The details of the prompt's count. Some engines write null.
bool ReadDetails(JsonScanner& scanner, int64_t* cached) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "cached_tokens") return scanner.CopyInt(cached);
    return scanner.Skip();
  });
}

}  // namespace

bool ReadUsage(JsonScanner& scanner, std::optional<Usage>* usage) {
  int64_t prompt = -1, output = -1, total = -1, cached = -1;
  const bool json = scanner.ForEachMember([&](absl::string_view key) {
    if (key == "prompt_tokens" || key == "input_tokens") return scanner.CopyInt(&prompt);
    if (key == "completion_tokens" || key == "output_tokens") return scanner.CopyInt(&output);
    if (key == "total_tokens") return scanner.CopyInt(&total);
    if (key == "prompt_tokens_details" || key == "input_tokens_details") return ReadDetails(scanner, &cached);
    return scanner.Skip();
  });
  if (!json || (prompt < 0 && output < 0 && total < 0)) return json;
  output = std::max<int64_t>(0, output);
  if (prompt < 0) prompt = total > output ? total - output : 0;
  *usage = Usage{Tokens(prompt), Tokens(output), Tokens(cached)};
  return true;
}

}  // namespace penstock
