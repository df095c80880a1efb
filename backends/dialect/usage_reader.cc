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

// Anthropic counts the cached parts of a prompt apart from the rest. An impossible count is left out.
int64_t WithCached(int64_t input, int64_t read, int64_t written, int64_t* cached) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (read < 0 || read > kMost || input > kMost) return input;
  *cached = read;
  return input + read + (written > 0 && written <= kMost ? written : 0);
}

}  // namespace

bool ReadUsage(JsonScanner& scanner, std::optional<Usage>* usage) {
  int64_t prompt = -1, input = -1, output = -1, total = -1, cached = -1, read = -1, written = -1;
  const bool json = scanner.ForEachMember([&](absl::string_view key) {
    if (key == "prompt_tokens") return scanner.CopyInt(&prompt);
    if (key == "input_tokens") return scanner.CopyInt(&input);
    if (key == "completion_tokens" || key == "output_tokens") return scanner.CopyInt(&output);
    if (key == "total_tokens") return scanner.CopyInt(&total);
    if (key == "prompt_tokens_details" || key == "input_tokens_details") return ReadDetails(scanner, &cached);
    if (key == "cache_read_input_tokens") return scanner.CopyInt(&read);
    if (key == "cache_creation_input_tokens") return scanner.CopyInt(&written);
    return scanner.Skip();
  });
  if (!json || (prompt < 0 && input < 0 && output < 0 && total < 0)) return json;
  output = std::max<int64_t>(0, output);
  if (prompt < 0 && input >= 0) prompt = WithCached(input, read, written, &cached);
  if (prompt < 0) prompt = total > output ? total - output : 0;
  *usage = Usage{Tokens(prompt), Tokens(output), Tokens(cached)};
  return true;
}

}  // namespace penstock
