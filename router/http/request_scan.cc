#include "router/http/request_scan.h"

#include <simdjson.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/http/prompt_text.h"

namespace penstock {
namespace {

using MaybeError = std::optional<ApiError>;

// Above this the parser's memory is given back after use.
constexpr size_t kKeptParserBytes = 1 << 20;

ApiError WrongType(absl::string_view field, absl::string_view expected) {
  return BadRequest(BadInput::kWrongType, absl::StrCat("`", field, "` must be ", expected, "."), field, "invalid_type");
}

ApiError Missing(absl::string_view field) {
  return BadRequest(BadInput::kMissingField, absl::StrCat("You must provide `", field, "`."), field,
                    "missing_required_parameter");
}

ApiError OutOfRange(absl::string_view field, absl::string_view bounds, absl::string_view value) {
  return BadRequest(BadInput::kOutOfRange,
                    absl::StrCat("`", field, "` must be ", bounds, ", not ", value.substr(0, 40), "."), field,
                    "invalid_value");
}

// Grammar, UTF-8 and depth. The parser reads a little beyond the text, so the string's capacity has to allow that.
MaybeError Validate(const std::string& body) {
  static thread_local auto kept = std::make_unique<simdjson::dom::parser>();
  simdjson::error_code code = simdjson::SUCCESS;
  const size_t capacity = std::max(kept->capacity(), std::max<size_t>(body.size(), 4096));
  if (kept->capacity() < capacity || kept->max_depth() != kMaxJsonDepth) code = kept->allocate(capacity, kMaxJsonDepth);
  bool is_object = false;
  if (code == simdjson::SUCCESS) {
    const bool padded = body.capacity() - body.size() >= simdjson::SIMDJSON_PADDING;
    auto document = kept->parse(body.data(), body.size(), !padded);
    code = document.error();
    is_object = code == simdjson::SUCCESS && document.is_object();
  }
  // A number that fits no machine type is still JSON; whether it is in range is asked field by field.
  if (code == simdjson::NUMBER_ERROR && nlohmann::json::accept(body)) {
    code = simdjson::SUCCESS;
    is_object = ValueAt(body, 0).kind() == JsonKind::kObject;
  }
  if (kept->capacity() > kKeptParserBytes) kept = std::make_unique<simdjson::dom::parser>();
  if (code == simdjson::DEPTH_ERROR) {
    return BadRequest(BadInput::kMalformedJson,
                      absl::StrCat("The body is nested deeper than ", kMaxJsonDepth, " levels."), "", "invalid_json");
  }
  if (code != simdjson::SUCCESS) {
    return BadRequest(BadInput::kMalformedJson,
                      absl::StrCat("The body is not valid JSON: ", simdjson::error_message(code)), "", "invalid_json");
  }
  if (!is_object) return BadRequest(BadInput::kMalformedJson, "The body must be a JSON object.", "", "invalid_json");
  return std::nullopt;
}

// Every top-level field that the router reads. Each may occur once.
enum Field : uint8_t {
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
constexpr std::array<absl::string_view, kFieldCount> kFieldNames = {"model",
                                                                    "stream",
                                                                    "stream_options",
                                                                    "max_tokens",
                                                                    "max_completion_tokens",
                                                                    "max_output_tokens",
                                                                    "n_predict",
                                                                    "n",
                                                                    "best_of",
                                                                    "service_tier",
                                                                    "messages",
                                                                    "prompt",
                                                                    "input",
                                                                    "instructions",
                                                                    "query",
                                                                    "documents",
                                                                    "tools",
                                                                    "functions",
                                                                    "logprobs",
                                                                    "top_logprobs",
                                                                    "response_format",
                                                                    "structured_outputs",
                                                                    "guided_json",
                                                                    "guided_regex",
                                                                    "guided_choice",
                                                                    "guided_grammar",
                                                                    "grammar",
                                                                    "json_schema",
                                                                    "regex",
                                                                    "ebnf",
                                                                    "min_tokens",
                                                                    "prompt_logprobs",
                                                                    "add_generation_prompt",
                                                                    "continue_final_message",
                                                                    "echo",
                                                                    "suffix"};

// The fields of one body. A null value counts as absent, except that it still may not occur twice.
class Fields {
 public:
  MaybeError Read(const std::string& body) {
    JsonObject members(ValueAt(body, 0));
    while (const auto member = members.Next()) {
      for (size_t field = 0; field < kFieldCount; ++field) {
        if (member->key != kFieldNames[field]) continue;
        if (seen_[field]) {
          return BadRequest(BadInput::kDuplicateKey, absl::StrCat("The key `", kFieldNames[field], "` occurs twice."),
                            kFieldNames[field], "duplicate_key");
        }
        seen_[field] = true;
        values_[field] = member->value;
        break;
      }
    }
    return std::nullopt;
  }
  const JsonValue* Find(Field field) const {
    return seen_[field] && values_[field].kind() != JsonKind::kNull ? &values_[field] : nullptr;
  }
  // Where a field stands even if it is null.
  std::optional<JsonSpan> Span(Field field) const {
    return seen_[field] ? std::optional<JsonSpan>(values_[field].span) : std::nullopt;
  }

 private:
  std::array<JsonValue, kFieldCount> values_{};
  std::array<bool, kFieldCount> seen_{};
};

MaybeError ReadBool(const Fields& fields, Field field, bool& out) {
  const JsonValue* value = fields.Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->kind() != JsonKind::kBool) return WrongType(kFieldNames[field], "a boolean");
  out = value->IsTrue();
  return std::nullopt;
}

MaybeError ReadString(const Fields& fields, Field field, std::string& out) {
  const JsonValue* value = fields.Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->kind() != JsonKind::kString) return WrongType(kFieldNames[field], "a string");
  out = value->Text();
  return std::nullopt;
}

MaybeError ReadInteger(const Fields& fields, Field field, int64_t least, int64_t most, std::optional<int64_t>& out) {
  const JsonValue* value = fields.Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->kind() != JsonKind::kNumber) return WrongType(kFieldNames[field], "an integer");
  const std::optional<int64_t> number = value->Integer();
  const bool fraction = value->raw().find_first_of(".eE") != absl::string_view::npos;
  if (fraction) return WrongType(kFieldNames[field], "an integer");
  if (!number || *number < least || *number > most) {
    return OutOfRange(kFieldNames[field], absl::StrCat("between ", least, " and ", most), value->raw());
  }
  out = number;
  return std::nullopt;
}

// llama-server's n_predict wins there and -1 means no limit; elsewhere the newer name wins.
MaybeError ReadLimits(const Fields& fields, RequestFacts& facts) {
  for (Field field : {kMaxTokens, kMaxCompletionTokens, kMaxOutputTokens, kNPredict}) {
    const JsonValue* value = fields.Find(field);
    if (value != nullptr && field == kNPredict && value->Integer() == -1) continue;
    std::optional<int64_t> limit;
    if (MaybeError error = ReadInteger(fields, field, 1, kMaxOutputLimit, limit)) return error;
    if (!limit) continue;
    facts.max_output = Tokens(*limit);
    facts.max_tokens_at = value->span;
  }
  return std::nullopt;
}

MaybeError ReadStreamOptions(const Fields& fields, RequestFacts& facts) {
  const JsonValue* options = fields.Find(kStreamOptions);
  if (options == nullptr) {
    facts.stream_options_at = fields.Span(kStreamOptions);
    return std::nullopt;
  }
  if (options->kind() != JsonKind::kObject) return WrongType("stream_options", "an object");
  if (!facts.stream) {
    return BadRequest(BadInput::kOutOfRange, "`stream_options` is only allowed when `stream` is true.",
                      "stream_options", "invalid_value");
  }
  facts.stream_options_at = options->span;
  JsonObject members(*options);
  while (const auto member = members.Next()) {
    if (member->key != "include_usage") continue;
    if (facts.include_usage_at) {
      return BadRequest(BadInput::kDuplicateKey, "The key `include_usage` occurs twice.",
                        "stream_options.include_usage", "duplicate_key");
    }
    if (member->value.kind() != JsonKind::kBool && member->value.kind() != JsonKind::kNull) {
      return WrongType("stream_options.include_usage", "a boolean");
    }
    facts.include_usage_at = member->value.span;
    facts.asks_usage = member->value.IsTrue();
  }
  return std::nullopt;
}

PromptResult CountResponsesPrompt(const Fields& fields, const JsonValue& input) {
  PromptResult counted = CountItems(input);
  const JsonValue* instructions = fields.Find(kInstructions);
  if (instructions == nullptr || std::holds_alternative<ApiError>(counted)) return counted;
  if (instructions->kind() != JsonKind::kString) return WrongType("instructions", "a string");
  PromptText& text = std::get<PromptText>(counted);
  text.text += CountJsonString(instructions->inside());
  text.largest = text.text;
  return counted;
}

MaybeError ReadPrompt(Endpoint endpoint, const Fields& fields, RequestFacts& facts) {
  const Field field = endpoint == Endpoint::kChat          ? kMessages
                      : endpoint == Endpoint::kCompletions ? kPrompt
                      : endpoint == Endpoint::kRerank      ? kQuery
                                                           : kInput;
  const JsonValue* value = fields.Find(field);
  if (value == nullptr) return Missing(kFieldNames[field]);
  if (endpoint == Endpoint::kRerank && fields.Find(kDocuments) == nullptr) return Missing("documents");
  PromptResult counted = endpoint == Endpoint::kChat        ? CountMessages(*value)
                         : endpoint == Endpoint::kResponses ? CountResponsesPrompt(fields, *value)
                         : endpoint == Endpoint::kRerank    ? CountDocuments(*value, *fields.Find(kDocuments))
                                                            : CountPrompt(*value, kFieldNames[field]);
  if (ApiError* error = std::get_if<ApiError>(&counted)) return std::move(*error);
  const PromptText& text = std::get<PromptText>(counted);
  facts.text = text.text;
  facts.largest_prompt = text.largest;
  facts.prompts = text.prompts;
  facts.prompt_is_text = text.is_text;
  facts.ends_with_assistant = text.ends_with_assistant;
  facts.prompt_at = value->span;
  return std::nullopt;
}

MaybeError ReadTools(const Fields& fields, RequestFacts& facts) {
  for (Field field : {kTools, kFunctions}) {
    const JsonValue* value = fields.Find(field);
    if (value == nullptr) continue;
    if (value->kind() != JsonKind::kArray) return WrongType(kFieldNames[field], "an array");
    facts.has_tools = true;
    facts.text.tool_bytes += static_cast<int64_t>(value->span.size());
    facts.largest_prompt.tool_bytes += static_cast<int64_t>(value->span.size());
  }
  return std::nullopt;
}

void ReadAnswerShape(const Fields& fields, RequestFacts& facts) {
  const JsonValue* logprobs = fields.Find(kLogprobs);
  facts.has_logprobs = (logprobs != nullptr && logprobs->raw() != "false") || fields.Find(kTopLogprobs) != nullptr;
  facts.has_logprobs |= fields.Find(kPromptLogprobs) != nullptr;
  for (size_t field = kResponseFormat; field <= kMinTokens; ++field) {
    facts.has_structure |= fields.Find(static_cast<Field>(field)) != nullptr;
  }
  facts.has_own_template =
      fields.Find(kAddGenerationPrompt) != nullptr || fields.Find(kContinueFinalMessage) != nullptr;
  const JsonValue* echo = fields.Find(kEcho);
  facts.echo = (echo != nullptr && echo->IsTrue()) || fields.Find(kSuffix) != nullptr;
}

MaybeError ReadFields(Endpoint endpoint, const Fields& fields, RequestFacts& facts) {
  if (fields.Find(kModel) == nullptr) return Missing("model");
  if (MaybeError error = ReadString(fields, kModel, facts.model)) return error;
  if (facts.model.empty()) return Missing("model");
  facts.model_at = fields.Span(kModel);
  if (MaybeError error = ReadBool(fields, kStream, facts.stream)) return error;
  facts.stream_at = fields.Span(kStream);
  if (MaybeError error = ReadStreamOptions(fields, facts)) return error;
  if (MaybeError error = ReadLimits(fields, facts)) return error;
  std::optional<int64_t> n, best_of;
  if (MaybeError error = ReadInteger(fields, kN, 1, kMaxSequences, n)) return error;
  if (MaybeError error = ReadInteger(fields, kBestOf, 1, kMaxSequences, best_of)) return error;
  facts.n = std::max(n.value_or(1), best_of.value_or(1));
  if (MaybeError error = ReadString(fields, kServiceTier, facts.service_tier)) return error;
  if (MaybeError error = ReadPrompt(endpoint, fields, facts)) return error;
  if (MaybeError error = ReadTools(fields, facts)) return error;
  ReadAnswerShape(fields, facts);
  return std::nullopt;
}

}  // namespace

bool RequestFacts::Continuable(Endpoint endpoint) const {
  const bool generates = endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions;
  return generates && prompt_is_text && n == 1 && !has_tools && !has_logprobs && !has_structure && !echo &&
         !has_own_template && !ends_with_assistant;
}

bool RequestFacts::Reassemblable(Endpoint endpoint) const {
  const bool generates = endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions;
  return generates && n == 1 && prompts == 1 && !has_logprobs && !echo;
}

std::variant<RequestFacts, ApiError> ScanRequest(Endpoint endpoint, const std::string& body) {
  if (MaybeError error = Validate(body)) return *std::move(error);
  Fields fields;
  if (MaybeError error = fields.Read(body)) return *std::move(error);
  RequestFacts facts;
  if (MaybeError error = ReadFields(endpoint, fields, facts)) return *std::move(error);
  return facts;
}

}  // namespace penstock
