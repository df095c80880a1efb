#include "router/openai/request/request_scan.h"

#include <simdjson.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/openai/request/prompt_fields.h"
#include "router/openai/request/prompt_hashes.h"

namespace penstock {
namespace {

// Bytes of a name, as it stands in the body.
constexpr size_t kMaxName = 1024;
constexpr size_t kLongestToolList = 256 << 10;

using Field = RequestField;
using MaybeError = std::optional<ApiError>;

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
  if (value->span.size() > kMaxName) {
    return OutOfRange(NameOf(field), absl::StrCat("at most ", kMaxName, " bytes long"), value->raw());
  }
  out = value->Text();
  return std::nullopt;
}

MaybeError ReadNumber(absl::string_view name, const JsonValue& value, int64_t least, int64_t most,
                      std::optional<int64_t>& out) {
  if (value.kind() != JsonKind::kNumber) return WrongType(name, "an integer");
  const std::optional<int64_t> number = value.Integer();
  const bool fraction = value.raw().find_first_of(".eE") != absl::string_view::npos;
  if (fraction) return WrongType(name, "an integer");
  if (!number || *number < least || *number > most) {
    return OutOfRange(name, absl::StrCat("between ", least, " and ", most), value.raw());
  }
  out = number;
  return std::nullopt;
}

MaybeError ReadInteger(const RequestFields& fields, Field field, int64_t least, int64_t most,
                       std::optional<int64_t>& out) {
  const JsonValue* value = fields.Find(field);
  return value == nullptr ? std::nullopt : ReadNumber(NameOf(field), *value, least, most, out);
}

MaybeError ReadLimits(const RequestFields& fields, RequestFacts& facts) {
  for (const LimitField& given : fields.limits()) {
    const JsonValue value = fields.ValueIn(given.at);
    const OutputLimit& row = *given.row;
    if (value.kind() == JsonKind::kNull) {
      facts.null_limits.push_back(GivenLimit{row.field, std::nullopt, given.at});
      continue;
    }
    std::optional<int64_t> limit;
    if (!row.unlimited || value.Integer() != row.unlimited) {
      if (MaybeError error = ReadNumber(row.field, value, row.least, kMaxOutputLimit, limit)) return error;
    }
    facts.limits.push_back(GivenLimit{row.field, limit, given.at});
  }
  return std::nullopt;
}

MaybeError ReadStreamOptions(const RequestFields& fields, RequestFacts& facts) {
  facts.stream_options_at = fields.Span(Field::kStreamOptions);
  const JsonValue* value = fields.Find(Field::kStreamOptions);
  if (value == nullptr) return std::nullopt;
  if (value->kind() != JsonKind::kObject) return WrongType("stream_options", "an object");
  if (!facts.stream) {
    return MakeError(ErrorName::kInvalidValue, "`stream_options` is only allowed when `stream` is true.",
                     "stream_options");
  }
  const StreamOptions& options = fields.stream_options();
  facts.stream_options_empty = options.empty;
  if (options.twice) {
    return MakeError(ErrorName::kDuplicateKey, "The key `include_usage` occurs twice.", "stream_options.include_usage");
  }
  if (!options.include_usage_at) return std::nullopt;
  const JsonValue usage = fields.ValueIn(*options.include_usage_at);
  if (usage.kind() != JsonKind::kBool && usage.kind() != JsonKind::kNull) {
    return WrongType("stream_options.include_usage", "a boolean");
  }
  facts.include_usage_at = usage.span;
  facts.asks_usage = usage.IsTrue();
  return std::nullopt;
}

void CountRendered(const JsonValue& value, RequestFacts& facts) {
  facts.text.tool_bytes += static_cast<int64_t>(value.span.size());
  if (facts.largest_prompt) facts.largest_prompt->tool_bytes += static_cast<int64_t>(value.span.size());
}

MaybeError ReadTools(const RequestFields& fields, RequestFacts& facts) {
  for (Field field : {Field::kTools, Field::kFunctions}) {
    const JsonValue* value = fields.Find(field);
    if (value == nullptr) continue;
    if (value->kind() != JsonKind::kArray) return WrongType(NameOf(field), "an array");
    facts.has_tools = true;
    CountRendered(*value, facts);
  }
  return std::nullopt;
}

// Fields that the engine's template, or its form of a gap to fill, may put into the prompt beside the messages.
void ReadRendered(Endpoint endpoint, const RequestFields& fields, RequestFacts& facts) {
  for (Field field : {Field::kDocuments, Field::kChatTemplate, Field::kChatTemplateKwargs, Field::kSuffix}) {
    const JsonValue* value = fields.Find(field);
    if (value != nullptr && FindPromptRow(endpoint, field) == nullptr) CountRendered(*value, facts);
  }
}

// The engine runs every tool that is not a function of the client. A list that takes longer than a turn of the loop is
// taken to have one.
bool RunsTools(const RequestFields& fields) {
  const JsonValue* tools = fields.Find(Field::kTools);
  if (tools == nullptr || tools->kind() != JsonKind::kArray) return false;
  if (tools->span.size() > kLongestToolList) return true;
  JsonArray elements(*tools);
  while (const auto tool = elements.Next()) {
    if (tool->kind() != JsonKind::kObject) continue;
    JsonObject members(*tool);
    while (const auto member = members.Next()) {
      if (member->key != "type" || member->value.kind() != JsonKind::kString) continue;
      const std::string type = member->value.Text();
      if (type != "function" && type != "custom") return true;
    }
  }
  return false;
}

// Tools that the provider of an Anthropic engine runs; all others are the client's.
bool RunsMessageTools(const RequestFields& fields) {
  const JsonValue* tools = fields.Find(Field::kTools);
  if (tools == nullptr || tools->kind() != JsonKind::kArray) return false;
  if (tools->span.size() > kLongestToolList) return true;
  const absl::string_view text = tools->raw();
  return absl::StrContains(text, "\"web_search_") || absl::StrContains(text, "\"web_fetch_") ||
         absl::StrContains(text, "\"code_execution_");
}

MaybeError ReadEffects(const RequestFields& fields, RequestFacts& facts) {
  bool store = true, background = false;
  if (MaybeError error = ReadBool(fields, Field::kStore, store)) return error;
  if (MaybeError error = ReadBool(fields, Field::kBackground, background)) return error;
  if (background && !store) {
    return MakeError(ErrorName::kInvalidValue, "`background` needs a stored response: leave `store` out.",
                     "background");
  }
  if (MaybeError error = ReadString(fields, Field::kPreviousResponseId, facts.previous_response)) return error;
  facts.continues_response = !facts.previous_response.empty() || fields.Find(Field::kConversation) != nullptr;
  facts.stored = store;
  facts.background = background;
  facts.request_id_at = fields.Span(Field::kRequestId);
  facts.has_effects = facts.has_effects || store || RunsTools(fields);
  return std::nullopt;
}

void ReadAnswerShape(const RequestFields& fields, RequestFacts& facts) {
  const JsonValue* logprobs = fields.Find(Field::kLogprobs);
  facts.has_logprobs =
      (logprobs != nullptr && logprobs->raw() != "false") || fields.Find(Field::kTopLogprobs) != nullptr;
  facts.has_prompt_logprobs = fields.Find(Field::kPromptLogprobs) != nullptr;
  facts.has_logprobs |= facts.has_prompt_logprobs;
  for (const Field field :
       {Field::kReturnTokenIds, Field::kReturnTokens, Field::kProbabilities, Field::kReturnHiddenStates}) {
    const JsonValue* value = fields.Find(field);
    facts.has_logprobs |= value != nullptr && (value->IsTrue() || value->Integer().value_or(0) > 0);
  }
  facts.min_tokens_at = fields.Span(Field::kMinTokens);
  facts.handover_at = fields.Span(Field::kKvTransferParams);
  for (auto field = Field::kResponseFormat; field <= Field::kMinTokens;
       field = static_cast<RequestField>(static_cast<int>(field) + 1)) {
    facts.has_structure |= fields.Find(field) != nullptr;
  }
  facts.has_own_template =
      fields.Find(Field::kAddGenerationPrompt) != nullptr || fields.Find(Field::kContinueFinalMessage) != nullptr;
  const JsonValue* temperature = fields.Find(Field::kTemperature);
  const bool greedy = temperature != nullptr && temperature->Integer() == 0;
  facts.seeded = fields.Find(Field::kSeed) != nullptr && !greedy;
  const JsonValue* echo = fields.Find(Field::kEcho);
  facts.echo = (echo != nullptr && echo->IsTrue()) || fields.Find(Field::kSuffix) != nullptr;
}

MaybeError ReadFields(Endpoint endpoint, RequestFields& fields, RequestFacts& facts) {
  if (fields.Find(Field::kModel) == nullptr) return MissingField("model");
  if (MaybeError error = ReadString(fields, Field::kModel, facts.model)) return error;
  if (facts.model.empty()) return MissingField("model");
  facts.model_at = fields.Span(Field::kModel);
  facts.stream_at = fields.Span(Field::kStream);
  // Vectors and rankings come whole, whatever the request says.
  if (Generates(endpoint)) {
    if (MaybeError error = ReadBool(fields, Field::kStream, facts.stream)) return error;
    const bool options = endpoint != Endpoint::kMessages;  // It always tells its usage.
    if (MaybeError error = options ? ReadStreamOptions(fields, facts) : std::nullopt) return error;
  }
  if (MaybeError error = ReadLimits(fields, facts)) return error;
  std::optional<int64_t> n, best_of;
  if (MaybeError error = ReadInteger(fields, Field::kN, 1, kMaxSequences, n)) return error;
  if (MaybeError error = ReadInteger(fields, Field::kBestOf, 1, kMaxSequences, best_of)) return error;
  facts.n = std::max(n.value_or(1), best_of.value_or(1));
  if (MaybeError error = ReadString(fields, Field::kServiceTier, facts.service_tier)) return error;
  if (MaybeError error = ReadPrompt(endpoint, fields, facts)) return error;
  if (MaybeError error = ReadTools(fields, facts)) return error;
  ReadRendered(endpoint, fields, facts);
  if (endpoint == Endpoint::kResponses) {
    if (MaybeError error = ReadEffects(fields, facts)) return error;
  }
  if (endpoint == Endpoint::kMessages) facts.has_effects = RunsMessageTools(fields);
  ReadAnswerShape(fields, facts);
  facts.shape = ShapeHash(fields);
  facts.session = SessionName(endpoint, fields);
  return std::nullopt;
}

}  // namespace

bool RequestFacts::Continuable(Endpoint endpoint) const {
  return StreamsText(endpoint) && prompt_is_text && n == 1 && !has_tools && !has_logprobs && !has_structure && !echo &&
         !seeded && !has_own_template && !ends_with_assistant;
}

bool RequestFacts::Divisible(Endpoint endpoint) const {
  return (endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions) && n == 1 && prompts == 1 && !echo &&
         !has_prompt_logprobs && max_output != Tokens(1);
}

bool RequestFacts::Reassemblable(Endpoint endpoint) const {
  return StreamsChunks(endpoint) && n == 1 && prompts == 1 && !has_logprobs && !echo;
}

bool RequestScan::Fail(absl::string_view message) {
  error_ = MakeError(ErrorName::kInvalidJson, message);
  return true;
}

bool RequestScan::CheckEncoding() {
  const size_t walked = walk_.position();
  const bool good = simdjson::validate_utf8(body_.data() + checked_, walked - checked_);
  checked_ = walked;
  return good;
}

bool RequestScan::Advance(size_t bytes) {
  if (error_) return true;
  const JsonWalk::Progress progress = walk_.Run(fields_, bytes);
  const size_t at = walk_.position();
  if (progress != JsonWalk::Progress::kBad) {
    if (!CheckEncoding()) return Fail("The body is not valid UTF-8.");
    if (progress == JsonWalk::Progress::kDone) return true;
    fields_.Pause(body_.data() + at);
    return false;
  }
  if (walk_.no_object()) return Fail("The body must be a JSON object.");
  if (walk_.too_deep()) {
    return Fail(absl::StrCat("The body is nested deeper than ", JsonWalk::kMaxDepth, " levels."));
  }
  return Fail(absl::StrCat("The body is not valid JSON: it is wrong or breaks off near byte ", at, "."));
}

std::variant<RequestFacts, ApiError> RequestScan::Take() {
  if (error_) return *std::move(error_);
  if (const absl::string_view name = fields_.duplicate(); !name.empty()) {
    return MakeError(ErrorName::kDuplicateKey, absl::StrCat("The key `", name, "` occurs twice."), name);
  }
  RequestFacts facts;
  if (MaybeError error = ReadFields(endpoint_, fields_, facts)) return *std::move(error);
  return facts;
}

std::variant<RequestFacts, ApiError> ScanRequest(Endpoint endpoint, absl::string_view body, OutputLimits limits) {
  RequestScan scan(endpoint, body, limits);
  while (!scan.Advance()) continue;
  return scan.Take();
}

ApiError WrongType(absl::string_view field, absl::string_view expected) {
  return MakeError(ErrorName::kWrongType, absl::StrCat("`", field, "` must be ", expected, "."), field);
}

}  // namespace penstock
