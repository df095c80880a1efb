#include "router/anthropic/stray_part.h"

#include <algorithm>
#include <iterator>

namespace penstock::anthropic {
namespace {

constexpr Part kCarriers[] = {Part::kText,    Part::kThinking, Part::kSource, Part::kInput,
                              Part::kContent, Part::kTitle,    Part::kContext};

constexpr unsigned BitOf(Part part) { return 1U << static_cast<unsigned>(part); }

struct Kind {
  absl::string_view name;
  unsigned carriers;
};
constexpr Kind kKinds[] = {{"text", BitOf(Part::kText)},
                           {"thinking", BitOf(Part::kThinking)},
                           {"redacted_thinking", 0},
                           {"tool_use", BitOf(Part::kInput)},
                           {"tool_result", BitOf(Part::kContent)},
                           {"image", BitOf(Part::kSource)},
                           {"document", BitOf(Part::kSource) | BitOf(Part::kTitle) | BitOf(Part::kContext)}};

}  // namespace

std::optional<Part> StrayPart(absl::string_view kind, const Block& block) {
  const auto* const known =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& row) { return row.name == kind; });
  if (known == std::end(kKinds)) return std::nullopt;
  for (const Part part : kCarriers) {
    if ((known->carriers & BitOf(part)) == 0 && block.At(part).size() > 0) return part;
  }
  return std::nullopt;
}

}  // namespace penstock::anthropic
