#include "router/ollama/options.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "absl/strings/str_cat.h"
#include "router/ollama/field_errors.h"

namespace penstock::ollama {
namespace {

// All but the first have the same name and meaning in OpenAI's dialect or in that of its servers.
constexpr std::array<absl::string_view, 9> kOptions = {
    "num_predict", "temperature", "top_p", "top_k", "min_p", "seed", "stop", "presence_penalty", "frequency_penalty"};

}  // namespace

std::optional<ApiError> AppendOptions(const JsonValue& options, std::string* out) {
  if (options.kind() != JsonKind::kObject) return WrongField("options", "an object");
  if (options.span.size() > kLongestPart) return TooLong("options");
  std::bitset<kOptions.size()> seen;
  JsonObject members(options);
  while (const auto member = members.Next()) {
    const auto* const known = std::find(kOptions.begin(), kOptions.end(), member->key);
    const auto at = static_cast<size_t>(known - kOptions.begin());
    if (known == kOptions.end() || seen[at] || member->value.kind() == JsonKind::kNull) continue;
    seen.set(at);
    if (at > 0) {
      absl::StrAppend(out, ",\"", *known, "\":", member->value.raw());
      continue;
    }
    const std::optional<int64_t> most = member->value.Integer();
    if (!most) return WrongField("options.num_predict", "an integer");
    if (*most > 0) absl::StrAppend(out, ",\"max_tokens\":", *most);
  }
  return std::nullopt;
}

}  // namespace penstock::ollama
