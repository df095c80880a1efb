#include "router/openai/request/request_scan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "router/openai/request/request_fields.h"

namespace penstock {
namespace {

using Field = RequestField;
using MaybeError = std::optional<ApiError>;

ApiError WrongType(absl::string_view field, absl::string_view expected) {
  return MakeError(ErrorName::kWrongType, absl::StrCat("`", field, "` must be ", expected, "."), field);
}

ApiError Missing(absl::string_view field) {
  return MakeError(ErrorName::kMissingField, absl::StrCat("You must provide `", field, "`."), field);
}

ApiError OutOfRange(absl::string_view field, absl::string_view bounds, absl::string_view value) {
  return MakeError(ErrorName::kInvalidValue,
                   absl::StrCat("`", field, "` must be ", bounds, ", not ", value.substr(0, 40), "."), field);
}

MaybeError ReadBool(const RequestFields& fields, Field field, bool& out) {
  const JsonValue* value = fields.Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->kind() != JsonKind::kBool) return WrongType(NameOf(field), "a boolean");
  out = value->IsTrue();
  return std::nullopt;
}

MaybeError ReadString(const RequestFields& fields, Field field, std::string& out) {
  const JsonValue* value = fields.Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->kind() != JsonKind::kString) return WrongType(NameOf(field), "a string");
  out = value->Text();
  return std::nullopt;
}

MaybeError ReadInteger(const RequestFields& fields, Field field, int64_t least, int64_t most,
                       std::optional<int64_t>& out) {
  const JsonValue* value = fields.Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->kind() != JsonKind::kNumber) return WrongType(NameOf(field), "an integer");
  const std::optional<int64_t> number = value->Integer();
  const bool fraction = value->raw().find_first_of(".eE") != absl::string_view::npos;
  if (fraction) return WrongType(NameOf(field), "an integer");
  if (!number || *number < least || *number > most) {
    return OutOfRange(NameOf(field), absl::StrCat("between ", least, " and ", most), value->raw());
  }
  out = number;
  return std::nullopt;
}

// llama-server's n_predict wins there and -1 means no limit; elsewhere the newer name wins.
MaybeError ReadLimits(const RequestFields& fields, RequestFacts& facts) {
  for (Field field : {Field::kMaxTokens, Field::kMaxCompletionTokens, Field::kMaxOutputTokens, Field::kNPredict}) {
    const JsonValue* value = fields.Find(field);
    if (value != nullptr && field == Field::kNPredict && value->Integer() == -1) continue;
    std::optional<int64_t> limit;
    if (MaybeError error = ReadInteger(fields, field, 1, kMaxOutputLimit, limit)) return error;
    if (!limit) continue;
    facts.max_output = Tokens(*limit);
    facts.max_tokens_at = value->span;
  }
  return std::nullopt;
}

MaybeError ReadStreamOptions(const RequestFields& fields, RequestFacts& facts) {
  const JsonValue* options = fields.Find(Field::kStreamOptions);
  if (options == nullptr) {
    facts.stream_options_at = fields.Span(Field::kStreamOptions);
    return std::nullopt;
  }
  if (options->kind() != JsonKind::kObject) return WrongType("stream_options", "an object");
  if (!facts.stream) {
    return MakeError(ErrorName::kInvalidValue, "`stream_options` is only allowed when `stream` is true.",
                     "stream_options");
  }
  facts.stream_options_at = options->span;
  JsonObject members(*options);
  while (const auto member = members.Next()) {
    if (member->key != "include_usage") continue;
    if (facts.include_usage_at) {
      return MakeError(ErrorName::kDuplicateKey, "The key `include_usage` occurs twice.",
                       "stream_options.include_usage");
    }
    if (member->value.kind() != JsonKind::kBool && member->value.kind() != JsonKind::kNull) {
      return WrongType("stream_options.include_usage", "a boolean");
    }
    facts.include_usage_at = member->value.span;
    facts.asks_usage = member->value.IsTrue();
  }
  return std::nullopt;
}

// `instructions` of responses stand before the items.
MaybeError AddInstructions(const RequestFields& fields, RequestFacts& facts) {
  const JsonValue* instructions = fields.Find(Field::kInstructions);
  if (instructions == nullptr) return std::nullopt;
  if (instructions->kind() != JsonKind::kString) return WrongType("instructions", "a string");
  facts.text += CountJsonString(instructions->inside());
  facts.largest_prompt = facts.text;
  return std::nullopt;
}

MaybeError CountDocuments(const RequestFields& fields, const JsonValue& query, PromptScan& scan) {
  const JsonValue* documents = fields.Find(Field::kDocuments);
  if (documents == nullptr) return Missing("documents");
  if (query.kind() != JsonKind::kString) return WrongType("query", "a string");
  JsonScanner json(documents->raw());
  scan.ReadDocuments(json, CountJsonString(query.inside()));
  return std::nullopt;
}

MaybeError ReadPrompt(Endpoint endpoint, RequestFields& fields, RequestFacts& facts) {
  const Field field = PromptField(endpoint);
  const JsonValue* value = fields.Find(field);
  if (value == nullptr) return Missing(NameOf(field));
  PromptScan& scan = fields.prompt();
  if (endpoint == Endpoint::kRerank) {
    if (MaybeError error = CountDocuments(fields, *value, scan)) return error;
  }
  if (scan.error()) return scan.error();
  const PromptText& text = scan.text();
  facts.text = text.text;
  facts.largest_prompt = text.largest;
  facts.prompts = text.prompts;
  facts.prompt_is_text = text.is_text;
  facts.ends_with_assistant = text.ends_with_assistant;
  facts.prompt_at = value->span;
  return endpoint == Endpoint::kResponses ? AddInstructions(fields, facts) : std::nullopt;
}

MaybeError ReadTools(const RequestFields& fields, RequestFacts& facts) {
  for (Field field : {Field::kTools, Field::kFunctions}) {
    const JsonValue* value = fields.Find(field);
    if (value == nullptr) continue;
    if (value->kind() != JsonKind::kArray) return WrongType(NameOf(field), "an array");
    facts.has_tools = true;
    facts.text.tool_bytes += static_cast<int64_t>(value->span.size());
    facts.largest_prompt.tool_bytes += static_cast<int64_t>(value->span.size());
  }
  return std::nullopt;
}

void ReadAnswerShape(const RequestFields& fields, RequestFacts& facts) {
  const JsonValue* logprobs = fields.Find(Field::kLogprobs);
  facts.has_logprobs =
      (logprobs != nullptr && logprobs->raw() != "false") || fields.Find(Field::kTopLogprobs) != nullptr;
  facts.has_logprobs |= fields.Find(Field::kPromptLogprobs) != nullptr;
  for (auto field = Field::kResponseFormat; field <= Field::kMinTokens;
       field = static_cast<RequestField>(static_cast<int>(field) + 1)) {
    facts.has_structure |= fields.Find(field) != nullptr;
  }
  facts.has_own_template =
      fields.Find(Field::kAddGenerationPrompt) != nullptr || fields.Find(Field::kContinueFinalMessage) != nullptr;
  const JsonValue* echo = fields.Find(Field::kEcho);
  facts.echo = (echo != nullptr && echo->IsTrue()) || fields.Find(Field::kSuffix) != nullptr;
}

MaybeError ReadFields(Endpoint endpoint, RequestFields& fields, RequestFacts& facts) {
  if (fields.Find(Field::kModel) == nullptr) return Missing("model");
  if (MaybeError error = ReadString(fields, Field::kModel, facts.model)) return error;
  if (facts.model.empty()) return Missing("model");
  facts.model_at = fields.Span(Field::kModel);
  if (MaybeError error = ReadBool(fields, Field::kStream, facts.stream)) return error;
  facts.stream_at = fields.Span(Field::kStream);
  if (MaybeError error = ReadStreamOptions(fields, facts)) return error;
  if (MaybeError error = ReadLimits(fields, facts)) return error;
  std::optional<int64_t> n, best_of;
  if (MaybeError error = ReadInteger(fields, Field::kN, 1, kMaxSequences, n)) return error;
  if (MaybeError error = ReadInteger(fields, Field::kBestOf, 1, kMaxSequences, best_of)) return error;
  facts.n = std::max(n.value_or(1), best_of.value_or(1));
  if (MaybeError error = ReadString(fields, Field::kServiceTier, facts.service_tier)) return error;
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

std::variant<RequestFacts, ApiError> ScanRequest(Endpoint endpoint, absl::string_view body) {
  RequestFields fields;
  if (MaybeError error = fields.Read(endpoint, body)) return *std::move(error);
  RequestFacts facts;
  if (MaybeError error = ReadFields(endpoint, fields, facts)) return *std::move(error);
  return facts;
}

}  // namespace penstock
