#include "backends/dialect/assembly/assembled_choice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/assembly/answer_bounds.h"
#include "backends/dialect/assembly/content_parts.h"
#include "base/json_string.h"

namespace penstock {
namespace {

constexpr size_t kPerCall = 256;  // Bytes of a tool call's books, roughly.

absl::Status NotJson() { return absl::InvalidArgumentError("event is not a JSON object"); }
absl::Status TooMany(absl::string_view things) { return absl::UnimplementedError(absl::StrCat("too many ", things)); }
absl::Status Unknown(absl::string_view kind, absl::string_view key) {
  return absl::UnimplementedError(absl::StrCat(kind, " field ", key.substr(0, 100)));
}

// Runs `visit(key)` for each member until it gives an error.
template <class Visit>
absl::Status ForMembers(JsonScanner& scanner, Visit&& visit) {
  absl::Status status;
  const bool json = scanner.ForEachMember([&](absl::string_view key) {
    status = visit(key);
    return status.ok();
  });
  if (!status.ok()) return status;
  return json ? absl::OkStatus() : NotJson();
}

absl::Status Skip(JsonScanner& scanner) { return scanner.Skip() ? absl::OkStatus() : NotJson(); }

absl::string_view InsideOfArray(absl::string_view raw) {
  return absl::StripAsciiWhitespace(raw.substr(1, raw.size() - 2));
}

}  // namespace

std::string* JsonMembers::Find(absl::string_view key) {
  for (Member& member : members_) {
    if (member.key == key) return &member.value;
  }
  if (members_.size() >= kMost) return nullptr;
  return &members_.emplace_back(Member{std::string(key), ""}).value;
}

bool JsonMembers::Has(absl::string_view key) const {
  return std::any_of(members_.begin(), members_.end(), [key](const Member& member) { return member.key == key; });
}

std::string JsonMembers::Take(absl::string_view key) {
  const auto it =
      std::find_if(members_.begin(), members_.end(), [key](const Member& member) { return member.key == key; });
  if (it == members_.end()) return "";
  std::string value = std::move(it->value);
  members_.erase(it);
  return value;
}

absl::Status AssembledChoice::AppendText(JsonScanner& scanner, std::string* text) {
  absl::string_view inside;
  if (!scanner.TakeString(&inside) || !EscapesAreWhole(inside)) return NotJson();
  text->append(inside.data(), inside.size());
  added_ += inside.size();
  return absl::OkStatus();
}

absl::Status AssembledChoice::KeepValue(JsonScanner& scanner, std::string* value) {
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return NotJson();
  added_ += raw.size() - std::min(raw.size(), value->size());
  value->assign(raw.data(), raw.size());
  return absl::OkStatus();
}

absl::Status AssembledChoice::Add(absl::string_view piece, Endpoint endpoint) {
  added_ = 0;
  JsonScanner scanner(piece);
  return ForMembers(scanner, [&](absl::string_view key) { return AddMember(scanner, key, endpoint); });
}

absl::Status AssembledChoice::AddMember(JsonScanner& scanner, absl::string_view key, Endpoint endpoint) {
  says_logprobs_ |= key == "logprobs";
  if (scanner.Peek() == 'n' || key == "index") return Skip(scanner);
  if (key == "finish_reason") return KeepValue(scanner, &finish_reason_);
  if (key == "stop_reason") return KeepValue(scanner, &stop_reason_);
  if (key == "logprobs") return AddLogprobs(scanner);
  if (key == "delta" && endpoint == Endpoint::kChat && scanner.Peek() == '{') return AddDelta(scanner);
  if (key == "text" && endpoint == Endpoint::kCompletions && scanner.Peek() == '"') {
    return AppendText(scanner, &content_);
  }
  // The answer already has members of these names.
  const bool own = key == "delta" || key == "message" || key == "text";
  if (own || absl::StrContains(key, '\\')) return Unknown("choice", key);
  return more_.MergeMember(key, scanner, MergedValue::Texts::kReplace, &added_);
}

absl::Status AssembledChoice::AddDelta(JsonScanner& scanner) {
  return ForMembers(scanner, [&](absl::string_view key) { return AddDeltaMember(scanner, key); });
}

absl::Status AssembledChoice::AddDeltaMember(JsonScanner& scanner, absl::string_view key) {
  const char first = scanner.Peek();
  if (first == 'n') return Skip(scanner);
  if (key == "content") return AddContent(scanner);
  if (key == "tool_calls" && first == '[') return AddToolCalls(scanner);
  if (key == "role" && first == '"') {
    role_.clear();
    return AppendText(scanner, &role_);
  }
  const bool own = key == "role" || key == "tool_calls";
  if (own || absl::StrContains(key, '\\')) return Unknown("delta", key);
  return delta_.MergeMember(key, scanner, MergedValue::Texts::kAppend, &added_);
}

absl::Status AssembledChoice::AddContent(JsonScanner& scanner) {
  const char first = scanner.Peek();
  if (first != '"' && first != '[') return Unknown("delta", "content");
  has_content_ = true;
  if (first == '"') return AppendText(scanner, &content_);
  const bool json = scanner.ForEachElement([&] {
    ContentPart part;
    if (!TakeContentPart(scanner, &part)) return false;
    if (!part.is_text) EndPart();
    const bool whole = !part.is_text || EscapesAreWhole(part.text);
    const absl::string_view more = part.is_text ? part.text : part.raw;
    absl::StrAppend(part.is_text ? &content_ : &parts_, !part.is_text && !parts_.empty() ? "," : "", more);
    added_ += more.size() + 1;
    return whole;
  });
  return json ? absl::OkStatus() : NotJson();
}

void AssembledChoice::EndPart() {
  if (content_.empty()) return;
  absl::StrAppend(&parts_, parts_.empty() ? "" : ",", R"({"type":"text","text":")", content_, "\"}");
  content_.clear();
}

absl::Status AssembledChoice::AddToolCalls(JsonScanner& scanner) {
  absl::Status status;
  const bool json = scanner.ForEachElement([&] {
    if (scanner.Peek() != '{') return scanner.Skip();
    int64_t index = 0;
    absl::string_view raw;
    const bool object = scanner.TakeRawObject(
        &raw, [&](absl::string_view key) { return key == "index" ? scanner.CopyInt(&index) : scanner.Skip(); });
    if (object) status = AddToolCall(raw, index);
    return object && status.ok();
  });
  if (!status.ok()) return status;
  return json ? absl::OkStatus() : NotJson();
}

absl::Status AssembledChoice::AddToolCall(absl::string_view piece, int64_t index) {
  const auto found = calls_.find(index);
  if (found == calls_.end() && calls_.size() >= kMostListed) return TooMany("tool calls");
  if (found == calls_.end()) added_ += kPerCall;
  ToolCall& call = found == calls_.end() ? calls_[index] : found->second;
  JsonScanner scanner(piece);
  return ForMembers(scanner, [&](absl::string_view key) {
    if (key == "function" && scanner.Peek() == '{') {
      call.has_function = true;
      return AddFunction(scanner, &call.function);
    }
    if (key == "index" || key == "function" || scanner.Peek() == 'n') return Skip(scanner);
    return call.members.MergeMember(key, scanner, MergedValue::Texts::kAppend, &added_);
  });
}

absl::Status AssembledChoice::AddFunction(JsonScanner& scanner, JsonMembers* function) {
  return ForMembers(scanner, [&](absl::string_view name) {
    // Some engines give the object itself instead of its text.
    const bool object = name == "arguments" && scanner.Peek() == '{';
    if (scanner.Peek() != '"' && !object) return Skip(scanner);
    std::string* text = function->Find(name);
    if (text == nullptr) return TooMany("fields of a function");
    if (!object) return AppendText(scanner, text);
    absl::string_view raw;
    if (!scanner.TakeRaw(&raw)) return NotJson();
    AppendJsonEscaped(raw, text);
    added_ += raw.size();
    return absl::OkStatus();
  });
}

absl::Status AssembledChoice::AddLogprobs(JsonScanner& scanner) {
  if (scanner.Peek() != '{') return Skip(scanner);
  has_logprobs_ = true;
  return ForMembers(scanner, [&](absl::string_view key) {
    absl::string_view raw;
    if (!scanner.TakeRaw(&raw)) return NotJson();
    std::string* value = logprobs_.Find(key);
    if (value == nullptr) return TooMany("fields of logprobs");
    const bool array = raw[0] == '[';
    const bool was_array = !value->empty() && value->front() == '[';
    if (array && was_array) {
      const absl::string_view more = InsideOfArray(raw);
      if (more.empty()) return absl::OkStatus();
      // Without its closing bracket until it is written.
      absl::StrAppend(value, value->size() > 1 ? "," : "", more);
      added_ += more.size() + 1;
    } else if (value->empty() || *value == "null") {
      *value = array ? absl::StrCat("[", InsideOfArray(raw)) : std::string(raw);
      added_ += raw.size();
    }
    return absl::OkStatus();
  });
}

void AssembledChoice::Write(Endpoint endpoint, JsonPieces* answer) {
  if (endpoint == Endpoint::kChat) {
    WriteMessage(answer);
  } else {
    answer->Add("\"text\":\"");
    answer->Add(std::move(content_));
    answer->Add("\"");
  }
  more_.WriteMembers(",", answer);
  answer->Add(End());
}

bool AssembledChoice::HasNoContent() const {
  const bool calls = !calls_.empty() || delta_.Has("function_call");
  const bool reasons = delta_.Has("reasoning_content") || delta_.Has("reasoning");
  return (calls && !has_content_) || (reasons && content_.empty());
}

void AssembledChoice::WriteContent(JsonPieces* answer) {
  if (!parts_.empty()) {
    EndPart();
    answer->Add("[");
    answer->Add(std::move(parts_));
    answer->Add("]");
  } else if (HasNoContent()) {
    answer->Add("null");
  } else {
    answer->Add("\"");
    answer->Add(std::move(content_));
    answer->Add("\"");
  }
}

void AssembledChoice::WriteMessage(JsonPieces* answer) {
  answer->Add(absl::StrCat("\"message\":{\"role\":\"", role_, "\",\"content\":"));
  WriteContent(answer);
  delta_.WriteMembers(",", answer);
  if (!calls_.empty()) WriteToolCalls(answer);
  answer->Add("}");
}

void AssembledChoice::WriteToolCalls(JsonPieces* answer) {
  answer->Add(",\"tool_calls\":[");
  absl::string_view comma;
  for (auto& [index, call] : calls_) {
    answer->Add(absl::StrCat(std::exchange(comma, ","), "{"));
    absl::string_view between = call.members.empty() ? "" : ",";
    call.members.WriteMembers("", answer);
    if (call.has_function) {
      std::string text = absl::StrCat(between, "\"function\":{");
      between = "";
      for (const JsonMembers::Member& member : call.function.list()) {
        absl::StrAppend(&text, std::exchange(between, ","), "\"", member.key, "\":\"", member.value, "\"");
      }
      answer->Add(text + "}");
    }
    answer->Add("}");
  }
  answer->Add("]");
}

std::string AssembledChoice::End() const {
  std::string text;
  if (says_logprobs_ && !has_logprobs_) text = ",\"logprobs\":null";
  if (has_logprobs_) {
    text = ",\"logprobs\":{";
    absl::string_view comma;
    for (const JsonMembers::Member& member : logprobs_.list()) {
      const absl::string_view bracket = absl::StartsWith(member.value, "[") ? "]" : "";
      absl::StrAppend(&text, std::exchange(comma, ","), "\"", member.key, "\":", member.value, bracket);
    }
    text.append("}");
  }
  absl::StrAppend(&text, ",\"finish_reason\":", finish_reason_);
  if (!stop_reason_.empty()) absl::StrAppend(&text, ",\"stop_reason\":", stop_reason_);
  return text + "}";
}

}  // namespace penstock
