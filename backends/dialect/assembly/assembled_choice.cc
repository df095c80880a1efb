#include "backends/dialect/assembly/assembled_choice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

// The index of an element that is an object; 0 where it names none.
bool IndexOf(absl::string_view piece, int64_t* index) {
  JsonScanner scanner(piece);
  return scanner.WholeObject(
      [&](absl::string_view key) { return key == "index" ? scanner.CopyInt(index) : scanner.Skip(); });
}

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
  return Unknown("choice", key);
}

absl::Status AssembledChoice::AddDelta(JsonScanner& scanner) {
  return ForMembers(scanner, [&](absl::string_view key) { return AddDeltaMember(scanner, key); });
}

absl::Status AssembledChoice::AddDeltaMember(JsonScanner& scanner, absl::string_view key) {
  const char first = scanner.Peek();
  if (first == 'n') return Skip(scanner);
  if (key == "tool_calls" && first == '[') return AddToolCalls(scanner);
  if (first != '"') return Unknown("delta", key);
  if (key == "content") {
    has_content_ = true;
    return AppendText(scanner, &content_);
  }
  if (key == "role") {
    role_.clear();
    return AppendText(scanner, &role_);
  }
  const auto text = std::find(kTexts.begin(), kTexts.end(), key);
  if (text == kTexts.end()) return Unknown("delta", key);
  const auto position = static_cast<size_t>(text - kTexts.begin());
  has_text_[position] = true;
  return AppendText(scanner, &texts_[position]);
}

absl::Status AssembledChoice::AddToolCalls(JsonScanner& scanner) {
  absl::Status status;
  const bool json = scanner.ForEachElement([&] {
    const bool object = scanner.Peek() == '{';
    absl::string_view raw;
    if (!scanner.TakeRaw(&raw)) return false;
    if (object) status = AddToolCall(raw);
    return status.ok();
  });
  if (!status.ok()) return status;
  return json ? absl::OkStatus() : NotJson();
}

absl::Status AssembledChoice::AddToolCall(absl::string_view piece) {
  int64_t index = 0;
  if (!IndexOf(piece, &index)) return NotJson();
  const auto found = calls_.find(index);
  if (found == calls_.end() && calls_.size() >= kMostCalls) return TooMany("tool calls");
  if (found == calls_.end()) added_ += kPerCall;
  ToolCall& call = found == calls_.end() ? calls_[index] : found->second;
  JsonScanner scanner(piece);
  return ForMembers(scanner, [&](absl::string_view key) {
    if (key == "function" && scanner.Peek() == '{') {
      call.has_function = true;
      return ForMembers(scanner, [&](absl::string_view name) {
        if (scanner.Peek() != '"') return Skip(scanner);
        std::string* text = call.function.Find(name);
        return text == nullptr ? TooMany("fields of a function") : AppendText(scanner, text);
      });
    }
    if (key == "index" || key == "function" || scanner.Peek() == 'n' || call.members.Has(key)) return Skip(scanner);
    std::string* value = call.members.Find(key);
    return value == nullptr ? TooMany("fields of a tool call") : KeepValue(scanner, value);
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
  answer->Add(End());
}

void AssembledChoice::WriteMessage(JsonPieces* answer) {
  answer->Add(absl::StrCat("\"message\":{\"role\":\"", role_, "\",\"content\":"));
  if (!has_content_ && !calls_.empty()) {
    answer->Add("null");
  } else {
    answer->Add("\"");
    answer->Add(std::move(content_));
    answer->Add("\"");
  }
  for (size_t i = 0; i < kTexts.size(); ++i) {
    if (!has_text_[i]) continue;
    answer->Add(absl::StrCat(",\"", kTexts[i], "\":\""));
    answer->Add(std::move(texts_[i]));
    answer->Add("\"");
  }
  if (!calls_.empty()) answer->Add(ToolCalls());
  answer->Add("}");
}

std::string AssembledChoice::ToolCalls() const {
  std::string text = ",\"tool_calls\":[";
  absl::string_view comma;
  for (const auto& [index, call] : calls_) {
    absl::StrAppend(&text, std::exchange(comma, ","), "{");
    absl::string_view between;
    for (const JsonMembers::Member& member : call.members.list()) {
      absl::StrAppend(&text, std::exchange(between, ","), "\"", member.key, "\":", member.value);
    }
    if (call.has_function) {
      absl::StrAppend(&text, between, "\"function\":{");
      between = "";
      for (const JsonMembers::Member& member : call.function.list()) {
        absl::StrAppend(&text, std::exchange(between, ","), "\"", member.key, "\":\"", member.value, "\"");
      }
      text.append("}");
    }
    text.append("}");
  }
  return text + "]";
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
