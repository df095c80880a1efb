// The top-level fields of one request body that the router reads. One pass checks the grammar of all of it, notes where
// fields stand and counts the text of the prompt. Pure; lives as long as the body.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_FIELDS_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_FIELDS_H_

#include <array>
#include <optional>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/json_scanner.h"
#include "router/openai/request/json_cursor.h"
#include "router/openai/request/prompt_text.h"

namespace penstock {

// Each may occur once.
enum class RequestField : uint8_t {
  kModel,
  kStream,
  kStreamOptions,
  kMaxTokens,
  kMaxCompletionTokens,
  kMaxOutputTokens,
  kNPredict,
  kN,
  kBestOf,
  kServiceTier,
  kMessages,
  kPrompt,
  kInput,
  kInstructions,
  kQuery,
  kDocuments,
  kTools,
  kFunctions,
  kLogprobs,
  kTopLogprobs,
  kResponseFormat,
  kStructuredOutputs,
  kGuidedJson,
  kGuidedRegex,
  kGuidedChoice,
  kGuidedGrammar,
  kGrammar,
  kJsonSchema,
  kRegex,
  kEbnf,
  kMinTokens,
  kPromptLogprobs,
  kAddGenerationPrompt,
  kContinueFinalMessage,
  kEcho,
  kSuffix,
  kFieldCount
};

absl::string_view NameOf(RequestField field);
// The field that holds the prompt.
RequestField PromptField(Endpoint endpoint);

// A null value counts as absent, except that it still may not occur twice.
class RequestFields {
 public:
  std::optional<ApiError> Read(Endpoint endpoint, absl::string_view body);

  const JsonValue* Find(RequestField field) const {
    return Seen(field) && ValueOf(field).kind() != JsonKind::kNull ? &ValueOf(field) : nullptr;
  }
  // The place of a field, even if it is null.
  std::optional<JsonSpan> Span(RequestField field) const {
    return Seen(field) ? std::optional<JsonSpan>(ValueOf(field).span) : std::nullopt;
  }
  // The content of the prompt's field; nothing yet for a reranking, whose fields belong together.
  PromptScan& prompt() { return prompt_; }

 private:
  static constexpr size_t Position(RequestField field) { return static_cast<size_t>(field); }
  bool Seen(RequestField field) const { return (seen_ >> Position(field) & 1) != 0; }
  const JsonValue& ValueOf(RequestField field) const { return values_[Position(field)]; }
  bool ReadField(Endpoint endpoint, absl::string_view body, JsonScanner& json, RequestField field);
  bool CountPrompt(Endpoint endpoint, JsonScanner& json);

  std::array<JsonValue, static_cast<size_t>(RequestField::kFieldCount)> values_;  // Valid for fields seen.
  uint64_t seen_ = 0;
  PromptScan prompt_;
  std::optional<ApiError> duplicate_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_FIELDS_H_
