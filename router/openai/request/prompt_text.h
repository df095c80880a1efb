// Counts the text of a prompt in all the shapes that requests give it. Pure.
//
// One pass: each function reads the value at the scanner to its end and checks its grammar on the way. It returns false
// when the value is not JSON. Of all other faults the first is stored.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_TEXT_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_TEXT_H_

#include <optional>
#include <string>
#include <variant>

#include "backends/dialect/json_scanner.h"
#include "kvmodel/prompt_estimate.h"
#include "router/openai/error/api_error.h"

namespace penstock {

struct PromptText {
  TextCounts text;     // The text of all prompts.
  TextCounts largest;  // The text of the largest prompt.
  int64_t prompts = 1;
  bool is_text = false;  // Messages or one string: no token ids, no list.
  bool ends_with_assistant = false;
};

class PromptScan {
 public:
  // `messages` of a chat: a non-empty array of objects with a role and a content of text or parts.
  bool ReadMessages(JsonScanner& json);
  // `prompt` or an embedding's `input`: a string, a list of strings, token ids, or a list of token id lists.
  bool ReadPrompt(JsonScanner& json, absl::string_view field);
  // `input` of responses: a string or a list of items.
  bool ReadItems(JsonScanner& json);
  // `documents` of a reranking, each read beside the query.
  bool ReadDocuments(JsonScanner& json, const TextCounts& query);

  const std::optional<ApiError>& error() const { return error_; }
  const PromptText& text() const { return result_; }

 private:
  struct Message;
  bool Refuse(ApiError error);
  // The value at the scanner is not what it should be.
  bool SkipWrong(JsonScanner& json, absl::string_view field, absl::string_view expected);
  bool ReadMessage(JsonScanner& json);
  bool ReadMessageMember(JsonScanner& json, absl::string_view key, Message& message);
  bool ReadContent(JsonScanner& json, absl::string_view field);
  bool ReadElement(JsonScanner& json, int64_t& ids, bool& wrong);
  bool ReadItem(JsonScanner& json);
  bool ReadDocument(JsonScanner& json, const TextCounts& query);
  void AddPrompt(const TextCounts& counts);
  std::string MessageField(absl::string_view member) const;

  PromptText result_;
  std::optional<ApiError> error_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_TEXT_H_
