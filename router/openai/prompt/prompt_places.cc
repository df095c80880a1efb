#include "router/openai/prompt/prompt_places.h"

namespace penstock {
namespace {

using Place = PromptPlace;

// Deeper lists of parts are counted as their bytes.
constexpr size_t kDeepestContent = 4;

}  // namespace

PromptPlace ListPlace(PromptShape shape) {
  switch (shape) {
    case PromptShape::kMessages:
    case PromptShape::kTurns:
      return Place::kMessages;
    case PromptShape::kPrompt:
      return Place::kPrompts;
    case PromptShape::kItems:
      return Place::kItems;
    case PromptShape::kBlocks:
      return Place::kContent;
    default:
      return Place::kDocuments;
  }
}

bool IsRawElement(const PromptPoint& point, char first) {
  const bool list = first == '[';
  if (point.place == Place::kContent) return list;
  if (point.place != Place::kPart) return false;
  if (point.use == PromptUse::kText) return first != '"';
  return point.use == PromptUse::kContent && (first == '{' || (list && point.depth >= kDeepestContent));
}

std::optional<PromptPlace> ElementPlace(PromptShape shape, const PromptPoint& point, bool object) {
  switch (point.place) {
    case Place::kField:
      return object ? Place::kPart : ListPlace(shape);
    case Place::kPrompts:
      return object ? Place::kPart : Place::kIds;
    case Place::kDocuments:
      return object ? Place::kPart : Place::kContent;
    case Place::kContent:
      return Place::kPart;
    case Place::kPart:
      if (point.use != PromptUse::kContent) return std::nullopt;
      // vLLM reads each part in an object that stands for a whole list as a text of its own.
      return point.depth == 1 ? Place::kDocuments : Place::kContent;
    default:
      return std::nullopt;
  }
}

}  // namespace penstock
