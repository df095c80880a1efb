#include "router/openai/request/request_fields.h"

#include <algorithm>
#include <bit>

#include "base/json_string.h"

namespace penstock {
namespace {

constexpr size_t kFields = static_cast<size_t>(RequestField::kFieldCount);
// clang-format off
constexpr std::array<absl::string_view, kFields> kFieldNames = {
    "model", "stream", "stream_options", "n", "best_of", "service_tier", "messages", "prompt", "input", "instructions", "query", "documents", "tools",
    "functions", "logprobs", "top_logprobs", "response_format", "structured_outputs", "guided_json", "guided_regex",
    "guided_choice", "guided_grammar", "grammar", "json_schema", "regex", "ebnf", "min_tokens", "prompt_logprobs",
    "add_generation_prompt", "continue_final_message", "echo", "suffix", "store", "background", "previous_response_id", "conversation", "seed", "temperature"};
// clang-format on

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

PromptScan::Shape ShapeOf(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChat:
      return PromptScan::Shape::kMessages;
    case Endpoint::kResponses:
      return PromptScan::Shape::kItems;
    case Endpoint::kRerank:
      return PromptScan::Shape::kDocuments;
    default:
      return PromptScan::Shape::kPrompt;
  }
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

RequestFields::RequestFields(Endpoint endpoint, absl::string_view body, OutputLimits limits)
    : body_(body),
      endpoint_(endpoint),
      counted_(endpoint == Endpoint::kRerank ? RequestField::kDocuments : PromptField(endpoint)),
      all_limits_(limits),
      prompt_(ShapeOf(endpoint), NameOf(counted_)) {}

// A key must not hide behind escapes: an engine would read it.
absl::string_view RequestFields::PlainKey(absl::string_view raw) {
  constexpr size_t kLongestEscaped = 6 * kLongestName;
  plain_.clear();
  if (raw.size() <= kLongestEscaped) AppendUnescaped(raw, &plain_);
  return plain_;
}

JsonSpan RequestFields::SpanOf(absl::string_view raw) const {
  const auto begin = static_cast<size_t>(raw.data() - body_.data());
  return JsonSpan{begin, begin + raw.size()};
}

bool RequestFields::IsAside() const {
  return (field_ == RequestField::kInstructions && endpoint_ == Endpoint::kResponses) ||
         (field_ == RequestField::kQuery && endpoint_ == Endpoint::kRerank);
}

void RequestFields::Key(absl::string_view raw, bool escaped) {
  const absl::string_view key = escaped ? PlainKey(raw) : raw;
  if (depth_ > 1) {
    if (field_ == counted_) return prompt_.Key(key);
    options_.empty = false;
    at_usage_ = key == "include_usage";
    return;
  }
  field_ = FieldOf(key);
  if (field_ == RequestField::kFieldCount) return BeginLimit(key);
  if (Seen(field_)) {
    if (duplicate_.empty()) duplicate_ = NameOf(field_);
    field_ = RequestField::kFieldCount;
    return;
  }
  seen_ |= uint64_t{1} << Position(field_);
}

void RequestFields::BeginLimit(absl::string_view key) {
  const OutputLimit* row = FindLimit(all_limits_, key, endpoint_);
  if (row == nullptr) return;
  const bool twice =
      std::any_of(limits_.begin(), limits_.end(), [row](const LimitField& one) { return one.row == row; });
  if (twice && duplicate_.empty()) duplicate_ = row->field;
  if (twice) return;
  limits_.push_back(LimitField{row, JsonSpan()});
  field_ = RequestField::kOutputLimit;
}

bool RequestFields::Open(const char* at) {
  const bool inside =
      depth_ == 0 ||
      (field_ == counted_ ? prompt_.Open(at) : depth_ == 1 && field_ == RequestField::kStreamOptions && *at == '{');
  if (inside) ++depth_;
  return inside;
}

TextCounter* RequestFields::Text(const char* at) {
  if (field_ == counted_) return prompt_.Text(at);
  if (!IsAside()) return nullptr;
  aside_ = TextCounter();
  return &aside_;
}

void RequestFields::Close() {
  if (depth_-- > 1 && field_ == counted_) prompt_.Close();
}

void RequestFields::End(absl::string_view raw) {
  if (depth_ == 0) return;
  if (field_ == counted_) prompt_.End(raw);
  if (depth_ > 1) {
    if (field_ != RequestField::kStreamOptions || !at_usage_) return;
    options_.twice |= options_.include_usage_at.has_value();
    options_.include_usage_at = SpanOf(raw);
  } else if (field_ < RequestField::kFieldCount) {
    values_[Position(field_)] = JsonValue{body_, SpanOf(raw)};
  } else if (field_ == RequestField::kOutputLimit) {
    limits_.back().at = SpanOf(raw);
  }
}

}  // namespace penstock
