#include "router/anthropic/turn_fields.h"

#include "router/openai/request/walk_key.h"

namespace penstock::anthropic {
namespace {

constexpr std::array<absl::string_view, static_cast<size_t>(Field::kCount)> kFields = {
    "model", "max_tokens",  "messages", "system",   "stop_sequences", "temperature",   "top_p",     "top_k",
    "tools", "tool_choice", "thinking", "metadata", "output_config",  "output_format", "container", "mcp_servers"};
constexpr std::array<absl::string_view, static_cast<size_t>(Part::kCount)> kParts = {
    "type",  "text",        "thinking", "source",   "id",    "name",
    "input", "tool_use_id", "content",  "is_error", "title", "context"};
constexpr std::array<absl::string_view, static_cast<size_t>(SourcePart::kCount)> kSourceParts = {"type", "media_type",
                                                                                                 "data", "url"};
constexpr size_t kLongestWord = 256;
constexpr std::array<absl::string_view, 2> kTurnParts = {"role", "content"};
constexpr std::array<JsonSpan Turn::*, 3> kTurnMembers = {&Turn::role, &Turn::content, nullptr};

}  // namespace

absl::string_view NameOf(Field field) { return kFields[static_cast<size_t>(field)]; }
absl::string_view NameOf(Part part) { return kParts[static_cast<size_t>(part)]; }

void TurnFields::Key(absl::string_view raw, bool escaped) {
  if (places_.empty()) return;
  switch (places_.back()) {
    case Place::kBody:
      field_ = static_cast<Field>(PositionOfKey(kFields, raw, escaped));
      in_system_ = field_ == Field::kSystem;
      if (in_system_) system_.clear();
      if (field_ == Field::kMessages) turns_.clear(), blocks_.clear();
      break;
    case Place::kTurn:
      member_ = kTurnMembers[PositionOfKey(kTurnParts, raw, escaped)];
      if (member_ == &Turn::content) blocks_.resize(turns_.back().begin);
      break;
    case Place::kBlock:
      part_ = static_cast<Part>(PositionOfKey(kParts, raw, escaped));
      if (part_ == Part::kContent) List().resize(open_blocks_.back() + 1);
      break;
    case Place::kSource:
      source_part_ = static_cast<SourcePart>(PositionOfKey(kSourceParts, raw, escaped));
      break;
    default:
      break;
  }
}

std::optional<TurnFields::Place> TurnFields::Inside(bool list) const {
  if (places_.empty()) return Place::kBody;
  switch (places_.back()) {
    case Place::kBody:
      if (list && field_ == Field::kMessages) return Place::kTurns;
      if (list && field_ == Field::kSystem) return Place::kSystem;
      break;
    case Place::kTurns:
      if (!list) return Place::kTurn;
      break;
    case Place::kTurn:
      if (list && member_ == &Turn::content) return Place::kContent;
      break;
    case Place::kSystem:
    case Place::kContent:
    case Place::kResult:
      if (!list) return Place::kBlock;
      break;
    case Place::kBlock:
      // Inside of a result, the walk reports no containers below a source: ReadSource() looks at it.
      if (!list && part_ == Part::kSource && open_blocks_.size() == 1) return Place::kSource;
      // The blocks of a result have no lists of their own.
      if (list && part_ == Part::kContent && open_blocks_.size() == 1) return Place::kResult;
      break;
    case Place::kSource:
      break;
  }
  return std::nullopt;
}

bool TurnFields::AddBlock() {
  const size_t of_turn = in_system_ ? system_.size() : blocks_.size() - turns_.back().begin;
  const bool room = of_turn < kMostBlocksOfTurn && system_.size() + blocks_.size() < kMostBlocks;
  too_many_ |= !room;
  if (!room) return false;
  Block block;
  block.inner = !open_blocks_.empty();
  open_blocks_.push_back(List().size());
  List().push_back(block);
  return true;
}

bool TurnFields::Open(const char* at) {
  const std::optional<Place> inside = Inside(*at == '[');
  if (!inside) return false;
  if (*inside == Place::kTurn) {
    too_many_ |= turns_.size() >= kMostTurns;
    if (too_many_) return false;
    turns_.push_back(Turn{{}, {}, blocks_.size(), blocks_.size()});
  }
  if (*inside == Place::kBlock && !AddBlock()) return false;
  // The blocks inside take the place of this member, so its end does not note it.
  if (*inside == Place::kResult) {
    List()[open_blocks_.back()].parts[static_cast<size_t>(Part::kContent)] = SpanIn(body_, absl::string_view(at, 1));
  }
  places_.push_back(*inside);
  return true;
}

void TurnFields::Close() {
  if (places_.back() == Place::kBlock) open_blocks_.pop_back();
  if (places_.back() == Place::kTurn) turns_.back().end = blocks_.size();
  places_.pop_back();
}

void TurnFields::ReadSource(absl::string_view raw) {
  JsonObject members(ValueIn(SpanIn(body_, raw)));
  while (const auto member = members.Next()) {
    const size_t part = PositionOfKey(kSourceParts, member->key, /*escaped=*/false);
    if (part < kSourceParts.size()) List()[open_blocks_.back()].source[part] = member->value.span;
  }
}

void TurnFields::EndInBlock(absl::string_view raw) {
  if (part_ == Part::kSource && open_blocks_.size() > 1 && raw.front() == '{') ReadSource(raw);
  if (part_ < Part::kCount && raw != "null")
    List()[open_blocks_.back()].parts[static_cast<size_t>(part_)] = SpanIn(body_, raw);
  part_ = Part::kCount;
}

void TurnFields::End(absl::string_view raw) {
  if (places_.empty()) return;
  switch (places_.back()) {
    case Place::kBody:
      if (field_ < Field::kCount) spans_[static_cast<size_t>(field_)] = SpanIn(body_, raw);
      field_ = Field::kCount;
      break;
    case Place::kTurn:
      if (member_ != nullptr && raw != "null") turns_.back().*member_ = SpanIn(body_, raw);
      member_ = nullptr;
      break;
    case Place::kBlock:
      EndInBlock(raw);
      break;
    case Place::kSource:
      if (source_part_ < SourcePart::kCount) {
        List()[open_blocks_.back()].source[static_cast<size_t>(source_part_)] = SpanIn(body_, raw);
      }
      source_part_ = SourcePart::kCount;
      break;
    case Place::kSystem:
    case Place::kContent:
    case Place::kResult:
      wrong_type_ |= raw.front() != '{';
      break;
    case Place::kTurns:
      break;
  }
}

std::string TurnFields::Word(JsonSpan span) const {
  const bool word = span.size() > 1 && span.size() <= kLongestWord && ValueIn(span).kind() == JsonKind::kString;
  return word ? ValueIn(span).Text() : std::string();
}

std::optional<JsonValue> TurnFields::Find(Field field) const {
  const JsonSpan span = spans_[static_cast<size_t>(field)];
  if (span.size() == 0 || ValueIn(span).kind() == JsonKind::kNull) return std::nullopt;
  return ValueIn(span);
}

}  // namespace penstock::anthropic
