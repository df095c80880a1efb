#include "router/openai/request/request_fields.h"

#include <simdjson.h>

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr size_t kFields = static_cast<size_t>(RequestField::kFieldCount);
// clang-format off
constexpr std::array<absl::string_view, kFields> kFieldNames = {
    "model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict",
    "n", "best_of", "service_tier", "messages", "prompt", "input", "instructions", "query", "documents", "tools",
    "functions", "logprobs", "top_logprobs", "response_format", "structured_outputs", "guided_json", "guided_regex",
    "guided_choice", "guided_grammar", "grammar", "json_schema", "regex", "ebnf", "min_tokens", "prompt_logprobs",
    "add_generation_prompt", "continue_final_message", "echo", "suffix"};
// clang-format on

ApiError InvalidJson(absl::string_view what) { return MakeError(ErrorName::kInvalidJson, what); }

ApiError NotAnObject(absl::string_view body, const JsonScanner& json) {
  const size_t at = json.position();
  if (at < body.size() && body.find_first_not_of(" \n\r\t") == at && body[at] != '{') {
    return InvalidJson("The body must be a JSON object.");
  }
  if (json.too_deep()) {
    return InvalidJson(absl::StrCat("The body is nested deeper than ", JsonScanner::kMaxDepth, " levels."));
  }
  return InvalidJson(absl::StrCat("The body is not valid JSON: it is wrong or breaks off near byte ", at, "."));
}

constexpr size_t kLongestName = 32;

// Fields whose names have as many characters as the index says, as bits.
constexpr std::array<uint64_t, kLongestName + 1> FieldsByLength() {
  static_assert(kFields <= 64);
  std::array<uint64_t, kLongestName + 1> fields{};
  for (size_t field = 0; field < kFields; ++field) fields[kFieldNames[field].size()] |= uint64_t{1} << field;
  return fields;
}

RequestField FieldOf(absl::string_view key) {
  static constexpr auto kByLength = FieldsByLength();
  if (key.size() > kLongestName) return RequestField::kFieldCount;
  for (uint64_t left = kByLength[key.size()]; left != 0; left &= left - 1) {
    const auto field = static_cast<size_t>(std::countr_zero(left));
    if (key == kFieldNames[field]) return static_cast<RequestField>(field);
  }
  return RequestField::kFieldCount;
}

}  // namespace

absl::string_view NameOf(RequestField field) { return kFieldNames[static_cast<size_t>(field)]; }

RequestField PromptField(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChat:
      return RequestField::kMessages;
    case Endpoint::kCompletions:
      return RequestField::kPrompt;
    case Endpoint::kRerank:
      return RequestField::kQuery;
    default:
      return RequestField::kInput;
  }
}

std::optional<ApiError> RequestFields::Read(Endpoint endpoint, absl::string_view body) {
  JsonScanner json(body, JsonScanner::Rules::kStrict);
  const bool whole = json.WholeObject([&](absl::string_view key) {
    // A key must not hide behind escapes: an engine would read it.
    if (key.find('\\') == absl::string_view::npos) return ReadField(endpoint, body, json, FieldOf(key));
    return ReadField(endpoint, body, json, FieldOf(UnescapeJson(key)));
  });
  if (!whole) return NotAnObject(body, json);
  if (!simdjson::validate_utf8(body.data(), body.size())) return InvalidJson("The body is not valid UTF-8.");
  return std::move(duplicate_);
}

bool RequestFields::ReadField(Endpoint endpoint, absl::string_view body, JsonScanner& json, RequestField field) {
  if (field == RequestField::kFieldCount) return json.Skip();
  if (Seen(field)) {
    if (!duplicate_) {
      duplicate_ = MakeError(ErrorName::kDuplicateKey, absl::StrCat("The key `", NameOf(field), "` occurs twice."),
                             NameOf(field));
    }
    return json.Skip();
  }
  seen_ |= uint64_t{1} << Position(field);
  const size_t begin = json.position();
  const bool counts = field == PromptField(endpoint) && endpoint != Endpoint::kRerank && json.Peek() != 'n';
  if (!(counts ? CountPrompt(endpoint, json) : json.Skip())) return false;
  values_[Position(field)] = JsonValue{body, JsonSpan{begin, json.position()}};
  return true;
}

bool RequestFields::CountPrompt(Endpoint endpoint, JsonScanner& json) {
  if (endpoint == Endpoint::kChat) return prompt_.ReadMessages(json);
  if (endpoint == Endpoint::kResponses) return prompt_.ReadItems(json);
  return prompt_.ReadPrompt(json, NameOf(PromptField(endpoint)));
}

}  // namespace penstock
