// The keys of messages, items and parts whose values are part of a prompt. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_PROMPT_PROMPT_KEYS_H_
#define PENSTOCK_ROUTER_OPENAI_PROMPT_PROMPT_KEYS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// The use of a member's value.
enum class PromptUse : uint8_t {
  kNone,
  kRole,
  kContent,      // A text, or a list of parts.
  kText,         // Counted if it is a string.
  kRaw,          // Its JSON is counted as text.
  kPicture,      // A data URL or an address, or an object with one.
  kDetail,       // The wish for a detail of the part's picture.
  kSound,        // An object with a sound.
  kSource,       // An object holds a picture or a document; a text names a source.
  kUnknownSize,  // Nothing tells its tokens.
};

PromptUse UseInMessage(absl::string_view key);
// An item of a response's input.
PromptUse UseInItem(absl::string_view key);
// A part of a content.
PromptUse UseInPart(absl::string_view key);
// A block of a content in Anthropic's dialect.
PromptUse UseInBlock(absl::string_view key);

// An object that is a prompt or a document, or a part of one. A member without a use of its own may be text.
PromptUse UseInElement(absl::string_view key);

// A bit for each member with text or media that stands in a part or block at most once; else 0. Engines take the last
// of several, and the forecast would count all.
unsigned BitOfOnce(absl::string_view key);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_PROMPT_PROMPT_KEYS_H_
