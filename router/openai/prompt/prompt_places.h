// The containers within a prompt, and what may stand in each where the prompt has no messages. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_PROMPT_PROMPT_PLACES_H_
#define PENSTOCK_ROUTER_OPENAI_PROMPT_PROMPT_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "router/openai/prompt/prompt_keys.h"

namespace penstock {

enum class PromptShape : uint8_t {
  kMessages,  // A chat has a non-empty array of objects with a role and a content of text or parts.
  kPrompt,  // A string, an object, token ids, or a list of strings, objects or lists of ids. Ids may have texts beside.
  kItems,   // The input of responses: a string or a list of items.
  kDocuments,  // A reranking has strings, objects or lists of parts. An object in their place has them in its content.
  kTexts,      // The same, or a single string or object.
  kTurns,      // Messages of Anthropic's dialect, whose content is a text or blocks.
  kBlocks,     // Its system prompt: a text or blocks.
  kOpaque,     // Anything: only the engine knows its tokens.
};

constexpr bool HasMessages(PromptShape shape) {
  return shape == PromptShape::kMessages || shape == PromptShape::kTurns;
}
constexpr bool HasBlocks(PromptShape shape) { return shape == PromptShape::kTurns || shape == PromptShape::kBlocks; }
// Its elements are texts, or objects with texts and media under any names: all of it is counted.
constexpr bool HasElements(PromptShape shape) {
  return shape == PromptShape::kPrompt || shape == PromptShape::kDocuments || shape == PromptShape::kTexts;
}

// A container that is open, or the field itself.
enum class PromptPlace : uint8_t {
  kField,
  kMessages,
  kMessage,
  kContent,
  kPart,
  kPrompts,
  kIds,
  kItems,
  kItem,
  kDocuments
};

// The place inside of the field, where that is a list.
PromptPlace ListPlace(PromptShape shape);

// A place at some depth below the field, and the use of its member.
struct PromptPoint {
  PromptPlace place = PromptPlace::kField;
  PromptUse use = PromptUse::kNone;
  size_t depth = 0;
};

// In a shape with elements: the value that begins with `first` is counted as its bytes.
bool IsRawElement(const PromptPoint& point, char first);
// The same: the place inside of a container at the point. None: nothing in it is counted on its own.
std::optional<PromptPlace> ElementPlace(PromptShape shape, const PromptPoint& point, bool object);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_PROMPT_PROMPT_PLACES_H_
