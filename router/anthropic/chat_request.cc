#include "router/anthropic/chat_request.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/json_string.h"
#include "router/anthropic/stray_part.h"

namespace penstock::anthropic {
namespace {

// A turn and a block cost at least as much as so many bytes of text.
constexpr size_t kCostOfTurn = 256;

// No turn: those of the system prompt.
const std::vector<Block>& BlocksOf(const TurnFields& fields, const Turn* turn) {
  return turn == nullptr ? fields.system() : fields.blocks();
}

}  // namespace

void ChatRequest::Refuse(ErrorName name, absl::string_view field, absl::string_view problem) {
  if (!error_) error_ = MakeError(name, absl::StrCat("`", field, "` ", problem), field);
}

std::string ChatRequest::Name(const Turn* turn, size_t block, absl::string_view member) const {
  if (turn == nullptr) return absl::StrCat("system[", block, "].", member);
  const std::vector<Block>& blocks = fields_.blocks();
  const auto place = static_cast<size_t>(turn - fields_.turns().data());
  size_t outer = 0, result = 0, inner = 0;
  for (size_t i = turn->begin; i <= block; ++i) {
    if (blocks[i].inner) {
      ++inner;
    } else {
      result = outer++;
      inner = 0;
    }
  }
  std::string name = absl::StrCat("messages[", place, "].content[", result, "]");
  if (blocks[block].inner) absl::StrAppend(&name, ".content[", inner - 1, "]");
  return absl::StrCat(name, ".", member);
}

bool ChatRequest::Advance(size_t slice) {
  switch (stage_) {
    case Stage::kRead:
      Read(slice);
      break;
    case Stage::kTurns:
      for (size_t cost = 0; cost < slice && turn_ < fields_.turns().size() && !error_; ++turn_) {
        const Turn& turn = fields_.turns()[turn_];
        AddTurn(turn);
        cost += kCostOfTurn * (1 + turn.end - turn.begin);
      }
      if (turn_ < fields_.turns().size()) break;
      AddEnd();
      stage_ = Stage::kTools;
      break;
    case Stage::kTools:
      for (size_t cost = 0; tools_ && cost < slice && !error_;) {
        const std::optional<JsonValue> tool = tools_->Next();
        if (!tool) {
          out_.Add("]");
          tools_.reset();
          break;
        }
        cost += kCostOfTurn + tool->span.size();
        AddTool(*tool);
      }
      if (tools_) break;
      AddSettings();
      stage_ = Stage::kDone;
      break;
    case Stage::kDone:
      break;
  }
  return error_ || stage_ == Stage::kDone;
}

void ChatRequest::Read(size_t slice) {
  const JsonWalk::Progress progress = walk_.Run(fields_, slice);
  if (progress == JsonWalk::Progress::kPaused) return;
  if (progress == JsonWalk::Progress::kBad) {
    error_ = MakeError(ErrorName::kInvalidJson, "The body is not a JSON object.");
  } else if (fields_.too_many()) {
    Refuse(ErrorName::kTooManyElements, "messages",
           absl::StrCat("may have at most ", TurnFields::kMostTurns, " messages with ", TurnFields::kMostBlocks,
                        " blocks in all, and one message ", TurnFields::kMostBlocksOfTurn, "."));
  } else if (fields_.wrong_type()) {
    Refuse(ErrorName::kWrongType, "messages[].content", "must be a text or a list of blocks.");
  } else {
    Begin();
    stage_ = Stage::kTurns;
  }
}

void ChatRequest::Begin() {
  out_.Add(absl::StrCat("{\"model\":", JsonQuote(order_.model), ",\"stream\":", order_.stream ? "true" : "false"));
  if (order_.stream) out_.Add(",\"stream_options\":{\"include_usage\":true}");
  out_.Add(",\"messages\":[");
  AddSystem();
}

void ChatRequest::AddSystem() {
  const std::optional<JsonValue> system = fields_.Find(Field::kSystem);
  if (!system) return;
  out_.Add("{\"role\":\"system\",\"content\":\"");
  if (IsText(system->span)) {
    out_.AddInside(system->span);
  } else {
    // Engines that speak the dialect join the blocks so.
    if (!AnyStray(/*turn=*/nullptr, 0, fields_.system().size())) {
      AddOnlyTexts(/*turn=*/nullptr, 0, fields_.system().size(), "");
    }
  }
  out_.Add("\"}");
  any_turn_ = true;
}

bool ChatRequest::AnyStray(const Turn* turn, size_t begin, size_t end) {
  for (size_t i = begin; i < end && !error_; ++i) {
    const Block& block = BlocksOf(fields_, turn)[i];
    const std::optional<Part> stray = StrayPart(fields_.Word(block.At(Part::kType)), block);
    if (stray)
      Refuse(ErrorName::kUnsupportedField, Name(turn, i, NameOf(*stray)), "is no part of a block of this type.");
  }
  return error_.has_value();
}

void ChatRequest::AddTexts(const Turn* turn, size_t begin, size_t end, bool inner, absl::string_view between) {
  const std::vector<Block>& blocks = BlocksOf(fields_, turn);
  bool any = false;
  for (size_t i = begin; i < end; ++i) {
    if (blocks[i].inner != inner || fields_.Word(blocks[i].At(Part::kType)) != "text") continue;
    const JsonSpan text = blocks[i].At(Part::kText);
    if (!IsText(text)) return Refuse(ErrorName::kWrongType, Name(turn, i, "text"), "must be a string.");
    if (std::exchange(any, true)) out_.Add(between);
    out_.AddInside(text);
  }
}

void ChatRequest::AddOnlyTexts(const Turn* turn, size_t begin, size_t end, absl::string_view between) {
  for (size_t i = begin; i < end; ++i) {
    if (fields_.Word(BlocksOf(fields_, turn)[i].At(Part::kType)) == "text") continue;
    return Refuse(ErrorName::kUnsupportedField, Name(turn, i, "type"),
                  "must be `text`: the engine's own dialect has only texts there.");
  }
  AddTexts(turn, begin, end, /*inner=*/false, between);
}

void ChatRequest::AddTurn(const Turn& turn) {
  const std::string role = fields_.Word(turn.role);
  ends_with_assistant_ = role == "assistant";
  if (role != "user" && role != "assistant" && role != "system") {
    return Refuse(ErrorName::kInvalidValue, absl::StrCat("messages[", turn_, "].role"),
                  "must be `user` or `assistant`.");
  }
  const bool list = turn.content.size() > 0 && fields_.ValueIn(turn.content).kind() == JsonKind::kArray;
  if (!list && !IsText(turn.content)) {
    return Refuse(ErrorName::kWrongType, absl::StrCat("messages[", turn_, "].content"),
                  "must be a text or a list of blocks.");
  }
  // Only the beginning of an answer may still be empty.
  const bool beginning = ends_with_assistant_ && turn_ + 1 == fields_.turns().size();
  if (list && turn.begin == turn.end && !beginning) {
    return Refuse(ErrorName::kEmptyArray, absl::StrCat("messages[", turn_, "].content"), "must not be empty.");
  }
  if (list && AnyStray(&turn, turn.begin, turn.end)) return;
  if (list && role != "system") return role == "user" ? AddUser(turn) : AddAssistant(turn);
  out_.Add(absl::StrCat(any_turn_ ? "," : "", "{\"role\":\"", role, "\",\"content\":\""));
  any_turn_ = true;
  if (list) {
    AddOnlyTexts(&turn, turn.begin, turn.end, kBetweenLines);
  } else {
    out_.AddInside(turn.content);
  }
  out_.Add("\"}");
}

void ChatRequest::AddAssistant(const Turn& turn) {
  const std::vector<Block>& blocks = fields_.blocks();
  out_.Add(absl::StrCat(any_turn_ ? "," : "", "{\"role\":\"assistant\",\"content\":\""));
  any_turn_ = true;
  AddTexts(&turn, turn.begin, turn.end, /*inner=*/false, kBetweenLines);
  out_.Add("\"");
  bool thoughts = false, calls = false;
  for (size_t i = turn.begin; i < turn.end; ++i) {
    const Block& block = blocks[i];
    const std::string type = fields_.Word(block.At(Part::kType));
    if (block.inner || type == "text" || type == "redacted_thinking" || type == "tool_use") continue;
    if (type != "thinking") {
      return Refuse(ErrorName::kUnsupportedField, Name(&turn, i, "type"),
                    "is of a kind that the engine's own dialect lacks.");
    }
    if (!IsText(block.At(Part::kThinking))) {
      return Refuse(ErrorName::kWrongType, Name(&turn, i, "thinking"), "must be a string.");
    }
    if (!std::exchange(thoughts, true)) out_.Add(",\"reasoning_content\":\"");
    out_.AddInside(block.At(Part::kThinking));
  }
  if (thoughts) out_.Add("\"");
  for (size_t i = turn.begin; i < turn.end; ++i) {
    const Block& block = blocks[i];
    if (block.inner || fields_.Word(block.At(Part::kType)) != "tool_use") continue;
    const JsonSpan id = block.At(Part::kId), name = block.At(Part::kName), input = block.At(Part::kInput);
    if (!IsText(id) || !IsText(name)) {
      return Refuse(ErrorName::kWrongType, Name(&turn, i, IsText(id) ? "name" : "id"), "must be a string.");
    }
    if (input.size() > 0 && fields_.ValueIn(input).kind() != JsonKind::kObject) {
      return Refuse(ErrorName::kWrongType, Name(&turn, i, "input"), "must be an object.");
    }
    if (input.size() > kLongestPart) {
      return Refuse(ErrorName::kInvalidValue, Name(&turn, i, "input"),
                    absl::StrCat("must be at most ", kLongestPart, " bytes long."));
    }
    out_.Add(std::exchange(calls, true) ? ",{\"id\":" : ",\"tool_calls\":[{\"id\":");
    out_.Add(id);
    out_.Add(",\"type\":\"function\",\"function\":{\"name\":");
    out_.Add(name);
    std::string arguments;
    AppendJsonEscaped(input.size() > 0 ? fields_.ValueIn(input).raw() : "{}", &arguments);
    out_.Add(absl::StrCat(",\"arguments\":\"", arguments, "\"}}"));
  }
  out_.Add(calls ? "]}" : "}");
}

void ChatRequest::AddUser(const Turn& turn) {
  const std::vector<Block>& blocks = fields_.blocks();
  bool media = false, texts = false;
  for (size_t i = turn.begin; i < turn.end; ++i) {
    const std::string type = fields_.Word(blocks[i].At(Part::kType));
    if (type == "tool_result" && !blocks[i].inner) {
      AddResult(turn, i);
    } else if (type == "image" || type == "document") {
      media = true;
    } else if (type != "text") {
      return Refuse(ErrorName::kUnsupportedField, Name(&turn, i, "type"),
                    "is of a kind that the engine's own dialect lacks.");
    } else if (!blocks[i].inner) {
      texts = true;
    }
    if (error_) return;
  }
  if (!media && !texts) return;
  out_.Add(any_turn_ ? ",{\"role\":\"user\",\"content\":" : "{\"role\":\"user\",\"content\":");
  any_turn_ = true;
  if (!media) {
    out_.Add("\"");
    AddTexts(&turn, turn.begin, turn.end, /*inner=*/false, kBetweenLines);
    return out_.Add("\"}");
  }
  bool any = false;
  out_.Add("[");
  for (size_t i = turn.begin; i < turn.end && !error_; ++i) {
    const std::string type = fields_.Word(blocks[i].At(Part::kType));
    const bool text = type == "text" && !blocks[i].inner;
    if (!text && type != "image" && type != "document") continue;
    if (text && !IsText(blocks[i].At(Part::kText))) {
      return Refuse(ErrorName::kWrongType, Name(&turn, i, "text"), "must be a string.");
    }
    if (std::exchange(any, true)) out_.Add(",");
    if (!text) {
      AddMedia(turn, i);
      continue;
    }
    out_.Add("{\"type\":\"text\",\"text\":");
    out_.Add(blocks[i].At(Part::kText));
    out_.Add("}");
  }
  out_.Add("]}");
}

void ChatRequest::AddEnd() {
  if (order_.continue_from) {
    out_.Add(
        absl::StrCat(any_turn_ ? "," : "", "{\"role\":\"assistant\",\"content\":\"", *order_.continue_from, "\"}"));
  }
  out_.Add("]");
  const bool goes_on = order_.continue_from || ends_with_assistant_;
  if (goes_on && !order_.continues) {
    return Refuse(ErrorName::kUnsupportedField, "messages",
                  "ends with a message of the assistant, which no engine of the model can go on with.");
  }
  if (goes_on) out_.Add(",\"continue_final_message\":true,\"add_generation_prompt\":false");
  if (const auto tools = fields_.Find(Field::kTools); tools && tools->raw() != "[]") {
    out_.Add(",\"tools\":[");
    tools_.emplace(*tools);
  }
}

}  // namespace penstock::anthropic
