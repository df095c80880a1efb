// The top-level fields of one request body that the router reads. A visitor of a JsonWalk: it notes where fields stand
// and has the text of the prompt counted. Pure; lives as long as the body.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_FIELDS_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_FIELDS_H_

#include <array>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "kvmodel/prompt/text_counts.h"
#include "router/openai/request/json_cursor.h"
#include "router/openai/request/prompt_text.h"

namespace penstock {

// Each may occur once.
enum class RequestField : uint8_t {
  kModel,
  kStream,
  kStreamOptions,
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
  kOutputConfig,  // Anthropic's dialect.
  kOutputFormat,  // The same.
  kMinTokens,
  kPromptLogprobs,
  kAddGenerationPrompt,
  kContinueFinalMessage,
  kEcho,
  kSuffix,
  kStore,
  kBackground,
  kPreviousResponseId,
  kConversation,
  kRequestId,
  kSeed,
  kTemperature,
  kText1,
  kText2,
  kQueries,
  kItems,
  kData1,
  kData2,
  kSystem,
  kUser,
  kPromptCacheKey,
  kMetadata,
  kChatTemplate,
  kChatTemplateKwargs,
  kKvTransferParams,
  kTexts,
  kData,
  kPromptEmbeds,
  kReturnTokenIds,      // vLLM.
  kReturnTokens,        // llama-server.
  kProbabilities,       // The same.
  kReturnHiddenStates,  // SGLang.
  kFieldCount,
  kOutputLimit,  // Any of them.
  kNone,
};

absl::string_view NameOf(RequestField field);
// The members of `stream_options`.
struct StreamOptions {
  bool empty = true;
  bool twice = false;                        // include_usage occurs twice.
  std::optional<JsonSpan> include_usage_at;  // Its value.
};

// The elements of `prompt_embeds`, where it is a list.
struct TensorCounts {
  int64_t elements = 0;
  int64_t bytes = 0;   // Of all tensors, without their coding.
  bool wrong = false;  // An element is no string.
};
// Base64 has four characters for three bytes; `literal` has its quotes.
int64_t BytesOfBase64(absl::string_view literal);

// A limit of the output that stands in the body.
struct LimitField {
  const OutputLimit* row = nullptr;
  JsonSpan at;  // The place of its value.
};

// A null value counts as absent, except that it still may not occur twice.
class RequestFields {
 public:
  RequestFields(Endpoint endpoint, absl::string_view body, OutputLimits limits)
      : body_(body), endpoint_(endpoint), all_limits_(limits) {}
  RequestFields(const RequestFields&) = delete;
  RequestFields& operator=(const RequestFields&) = delete;

  // The methods of a visitor.
  void Key(absl::string_view raw, bool escaped);
  bool Open(const char* at);
  TextCounter* Text(const char* at);
  void Close();
  void End(absl::string_view raw);
  // The walk pauses at `at`.
  void Pause(const char* at) {
    if (scan_ != nullptr) scan_->Pause(at);
  }

  const JsonValue* Find(RequestField field) const {
    return Seen(field) && ValueOf(field).kind() != JsonKind::kNull ? &ValueOf(field) : nullptr;
  }
  // The place of a field, even if it is null.
  std::optional<JsonSpan> Span(RequestField field) const {
    return Seen(field) ? std::optional<JsonSpan>(ValueOf(field).span) : std::nullopt;
  }
  // The first field that occurs twice; empty: none does.
  absl::string_view duplicate() const { return duplicate_; }
  const absl::InlinedVector<LimitField, 2>& limits() const { return limits_; }
  const StreamOptions& stream_options() const { return inside_.options; }
  const TensorCounts& tensors() const { return inside_.tensors; }
  // The value at a place.
  JsonValue ValueIn(JsonSpan span) const { return JsonValue{body_, span}; }
  // The text of a field, and the field that has it; kNone: no field of the prompt occurs.
  struct Part {
    RequestField field = RequestField::kNone;
    RequestField second = RequestField::kNone;  // Another field that could have it, which occurs too.
    PromptScan scan{PromptScan::Shape::kPrompt, ""};
  };
  Part& prompt() { return prompt_; }
  // Stands beside each prompt: `instructions` of responses, `query` of a reranking.
  const Part& beside() const { return beside_; }

 private:
  static constexpr size_t Position(RequestField field) { return static_cast<size_t>(field); }
  bool Seen(RequestField field) const { return (seen_ >> Position(field) & 1) != 0; }
  const JsonValue& ValueOf(RequestField field) const { return values_[Position(field)]; }
  absl::string_view PlainKey(absl::string_view raw);
  // The field at the walk is read inside, beside those of the prompt; `first` is its first character.
  bool ReadsInside(char first) const;
  void AddTensor(absl::string_view raw);
  // Notes the key if it is a limit of the output.
  void BeginLimit(absl::string_view key);
  // The scan of the field that begins; null: its text does not count.
  PromptScan* BeginPart();

  const absl::string_view body_;
  const Endpoint endpoint_;
  int depth_ = 0;                                   // Counts the containers that are open and reported.
  RequestField field_ = RequestField::kFieldCount;  // At the walk; kFieldCount: none that is read.
  bool at_usage_ = false;                           // Within stream_options: at include_usage.
  std::string plain_;                               // A key without its escapes.
  std::array<JsonValue, static_cast<size_t>(RequestField::kFieldCount)> values_;  // Valid for fields seen.
  uint64_t seen_ = 0;
  absl::string_view duplicate_;
  const OutputLimits all_limits_;
  absl::InlinedVector<LimitField, 2> limits_;
  struct {
    StreamOptions options;
    TensorCounts tensors;
  } inside_;  // The parts of fields that are no prompt.
  Part prompt_;
  Part beside_;
  PromptScan* scan_ = nullptr;  // The scan of the field at the walk; null: none.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_FIELDS_H_
