#include "router/openai/request/request_fields.h"

#include <algorithm>
#include <bit>

#include "base/json_string.h"
#include "router/openai/request/prompt_fields.h"

namespace penstock {
namespace {

constexpr size_t kFields = static_cast<size_t>(RequestField::kFieldCount);
// clang-format off
constexpr std::array<absl::string_view, kFields> kFieldNames = {
    "model", "stream", "stream_options", "n", "best_of", "service_tier", "messages", "prompt", "input", "instructions",
    "query", "documents", "tools",
    "functions", "logprobs", "top_logprobs", "response_format", "structured_outputs", "guided_json", "guided_regex",
    "guided_choice", "guided_grammar", "grammar", "json_schema", "regex", "ebnf", "output_config",
    "output_format", "min_tokens", "prompt_logprobs",
    "add_generation_prompt", "continue_final_message", "echo", "suffix", "store", "background", "previous_response_id",
    "conversation", "request_id", "seed", "temperature", "text_1", "text_2", "queries", "items", "data_1", "data_2",
    "system", "user", "prompt_cache_key", "metadata",
    "chat_template", "chat_template_kwargs", "kv_transfer_params", "texts", "data", "prompt_embeds",
    "return_token_ids", "return_tokens", "n_probs", "return_hidden_states"};
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

}  // namespace

absl::string_view NameOf(RequestField field) { return kFieldNames[static_cast<size_t>(field)]; }

int64_t BytesOfBase64(absl::string_view literal) { return static_cast<int64_t>(literal.size() - 2) / 4 * 3; }

// A key must not hide behind escapes: an engine would read it.
absl::string_view RequestFields::PlainKey(absl::string_view raw) {
  constexpr size_t kLongestEscaped = 6 * kLongestName;
  plain_.clear();
  if (raw.size() <= kLongestEscaped) AppendUnescaped(raw, &plain_);
  return plain_;
}

PromptScan* RequestFields::BeginPart() {
  const PromptRow* row = FindPromptRow(endpoint_, field_);
  if (row == nullptr) return nullptr;
  Part& part = row->beside ? beside_ : prompt_;
  if (part.field != RequestField::kNone) {
    part.second = field_;
    return nullptr;
  }
  part.field = field_;
  part.scan = PromptScan(row->shape, NameOf(field_));
  return &part.scan;
}

void RequestFields::Key(absl::string_view raw, bool escaped) {
  const absl::string_view key = escaped ? PlainKey(raw) : raw;
  if (depth_ > 1) {
    // A key that is too long to be resolved has a length at least.
    if (scan_ != nullptr) return scan_->Key(key.empty() ? raw : key);
    inside_.options.empty = false;
    at_usage_ = key == "include_usage";
    return;
  }
  field_ = FieldOf(key);
  scan_ = nullptr;
  if (field_ == RequestField::kFieldCount) return BeginLimit(key);
  if (Seen(field_)) {
    if (duplicate_.empty()) duplicate_ = NameOf(field_);
    field_ = RequestField::kFieldCount;
    return;
  }
  seen_ |= uint64_t{1} << Position(field_);
  scan_ = BeginPart();
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

bool RequestFields::ReadsInside(char first) const {
  if (field_ == RequestField::kPromptEmbeds) return first == '[';
  return field_ == RequestField::kStreamOptions && first == '{';
}

void RequestFields::AddTensor(absl::string_view raw) {
  TensorCounts& tensors = inside_.tensors;
  ++tensors.elements;
  if (raw[0] == '"') {
    tensors.bytes += BytesOfBase64(raw);
  } else {
    tensors.wrong = true;
  }
}

bool RequestFields::Open(const char* at) {
  const bool inside = depth_ == 0 || (scan_ != nullptr ? scan_->Open(at) : depth_ == 1 && ReadsInside(*at));
  if (inside) ++depth_;
  return inside;
}

TextCounter* RequestFields::Text(const char* at) { return scan_ == nullptr ? nullptr : scan_->Text(at); }

void RequestFields::Close() {
  if (depth_-- > 1 && scan_ != nullptr) scan_->Close();
}

void RequestFields::End(absl::string_view raw) {
  if (depth_ == 0) return;
  if (scan_ != nullptr) scan_->End(raw);
  if (depth_ > 1) {
    if (field_ == RequestField::kPromptEmbeds) return AddTensor(raw);
    if (field_ != RequestField::kStreamOptions || !at_usage_) return;
    StreamOptions& options = inside_.options;
    options.twice |= options.include_usage_at.has_value();
    options.include_usage_at = SpanIn(body_, raw);
  } else if (field_ < RequestField::kFieldCount) {
    values_[Position(field_)] = JsonValue{body_, SpanIn(body_, raw)};
  } else if (field_ == RequestField::kOutputLimit) {
    limits_.back().at = SpanIn(body_, raw);
  }
}

}  // namespace penstock
