// Counts the text of a prompt in all the shapes that requests give it. Pure.
#ifndef PENSTOCK_ROUTER_HTTP_PROMPT_TEXT_H_
#define PENSTOCK_ROUTER_HTTP_PROMPT_TEXT_H_

#include <optional>
#include <variant>

#include "kvmodel/prompt_estimate.h"
#include "router/http/api_error.h"
#include "router/http/json_cursor.h"

namespace penstock {

struct PromptText {
  TextCounts text;     // Of all prompts.
  TextCounts largest;  // Of the largest one.
  int64_t prompts = 1;
  bool is_text = false;  // Messages or one string: no token ids, no list.
  bool ends_with_assistant = false;
};
using PromptResult = std::variant<PromptText, ApiError>;

// `messages` of a chat: a non-empty array of objects with a role and a content of text or parts.
PromptResult CountMessages(const JsonValue& messages);
// `prompt` or an embedding's `input`: a string, a list of strings, token ids, or a list of token id lists.
PromptResult CountPrompt(const JsonValue& prompt, absl::string_view field);
// `input` of responses: a string or a list of items.
PromptResult CountItems(const JsonValue& input);
// `documents` of a reranking, each read beside the query.
PromptResult CountDocuments(const JsonValue& query, const JsonValue& documents);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PROMPT_TEXT_H_
