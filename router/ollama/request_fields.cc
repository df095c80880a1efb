#include "router/ollama/request_fields.h"

#include "router/openai/request/walk_key.h"

namespace penstock::ollama {
namespace {

constexpr std::array<absl::string_view, static_cast<size_t>(Field::kCount)> kFields = {
    "model",  "name",  "messages", "prompt",  "system", "suffix", "template",
    "images", "tools", "format",   "options", "stream", "raw",    "think"};
constexpr std::array<absl::string_view, static_cast<size_t>(Part::kCount)> kParts = {
    "role", "content", "images", "tool_calls", "tool_name", "tool_call_id"};

}  // namespace

void RequestFields::Key(absl::string_view raw, bool escaped) {
  if (places_.empty()) return;
  if (places_.back() == Place::kBody) {
    field_ = static_cast<Field>(PositionOfKey(kFields, raw, escaped));
    if (field_ == Field::kMessages) messages_.clear();
    if (field_ == Field::kImages) images_.clear();
  } else if (places_.back() == Place::kMessage) {
    part_ = static_cast<Part>(PositionOfKey(kParts, raw, escaped));
    if (part_ == Part::kImages) messages_.back().images.clear();
  }
}

bool RequestFields::Open(const char* at) {
  if (places_.empty()) {
    places_.push_back(Place::kBody);
    return true;
  }
  const bool list = *at == '[';
  std::optional<Place> inside;
  switch (places_.back()) {
    case Place::kBody:
      if (field_ == Field::kMessages && list) inside = Place::kMessages;
      if (field_ == Field::kImages && list) inside = Place::kImages;
      break;
    case Place::kMessages:
      if (!list && messages_.size() < kMostMessages) inside = Place::kMessage;
      too_many_ |= messages_.size() >= kMostMessages;
      break;
    case Place::kMessage:
      if (part_ == Part::kImages && list) inside = Place::kMessageImages;
      break;
    case Place::kMessageImages:
    case Place::kImages:
      break;
  }
  if (!inside) return false;
  if (*inside == Place::kMessage) messages_.emplace_back();
  places_.push_back(*inside);
  return true;
}

void RequestFields::Close() { places_.pop_back(); }

void RequestFields::AddImage(std::vector<JsonSpan>& images, absl::string_view raw) {
  wrong_type_ |= raw.empty() || raw.front() != '"';
  too_many_ |= ++all_images_ > kMostImages;
  if (!too_many_) images.push_back(SpanIn(body_, raw));
}

void RequestFields::EndInMessage(absl::string_view raw) {
  if (part_ < Part::kCount && raw != "null") messages_.back().parts[static_cast<size_t>(part_)] = SpanIn(body_, raw);
  part_ = Part::kCount;
}

void RequestFields::End(absl::string_view raw) {
  if (places_.empty()) return;
  switch (places_.back()) {
    case Place::kBody:
      if (field_ < Field::kCount) spans_[static_cast<size_t>(field_)] = SpanIn(body_, raw);
      field_ = Field::kCount;
      break;
    case Place::kMessages:
      wrong_type_ |= raw.empty() || raw.front() != '{';
      break;
    case Place::kMessage:
      EndInMessage(raw);
      break;
    case Place::kMessageImages:
      AddImage(messages_.back().images, raw);
      break;
    case Place::kImages:
      AddImage(images_, raw);
      break;
  }
}

std::optional<JsonValue> RequestFields::Find(Field field) const {
  const JsonSpan span = spans_[static_cast<size_t>(field)];
  if (span.size() == 0 || ValueIn(span).kind() == JsonKind::kNull) return std::nullopt;
  return ValueIn(span);
}

}  // namespace penstock::ollama
