#include "router/jobs/batch/answer_use.h"

#include <optional>

#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage_reader.h"

namespace penstock::jobs {
namespace {

// More is no count of one answer. The sum over the lines of a batch fits.
Tokens Possible(int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return Tokens(count < 0 || count > kMost ? 0 : count);
}

int64_t ReasoningOf(absl::string_view usage) {
  int64_t reasoning = 0;
  JsonScanner scanner(usage);
  const auto detail = [&](absl::string_view key) {
    return key == "reasoning_tokens" ? scanner.CopyInt(&reasoning) : scanner.Skip();
  };
  (void)scanner.WholeObject([&](absl::string_view key) {
    const bool details = key == "completion_tokens_details" || key == "output_tokens_details";
    return details ? scanner.ForEachMember(detail) : scanner.Skip();
  });
  return reasoning;
}

}  // namespace

TokenUse UseOf(absl::string_view body) {
  absl::string_view raw;
  JsonScanner scanner(body);
  const bool whole = scanner.WholeObject(
      [&](absl::string_view key) { return key == "usage" ? scanner.TakeRaw(&raw) : scanner.Skip(); });
  std::optional<Usage> usage;
  JsonScanner inside(raw);
  if (!whole || raw.empty() || !ReadUsage(inside, &usage) || !usage) return {};
  return {Possible(usage->prompt.value()), Possible(usage->cached.value()), Possible(usage->output.value()),
          Possible(ReasoningOf(raw))};
}

}  // namespace penstock::jobs
