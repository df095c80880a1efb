#include "router/openai/request/prompt_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "router/openai/request/json_cursor.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

constexpr absl::string_view kContentShapes = "a string or an array of content parts";
constexpr absl::string_view kPromptShapes = "a string, a list of strings, a list of token ids, or a list of such lists";

ApiError WrongPartType(absl::string_view field, absl::string_view expected) {
  return MakeError(ErrorName::kWrongType, absl::StrCat("`", field, "` must be ", expected, "."), field);
}

ApiError Duplicate(absl::string_view field, absl::string_view key) {
  return MakeError(ErrorName::kDuplicateKey, absl::StrCat("The key `", key, "` occurs twice in `", field, "`."), field);
}

ApiError Empty(absl::string_view field, absl::string_view message) {
  return MakeError(ErrorName::kEmptyArray, absl::StrCat("`", field, "` ", message), field);
}

ApiError TooMany(absl::string_view field, int64_t count) {
  return MakeError(ErrorName::kTooManyElements,
                   absl::StrCat("`", field, "` has ", count, " elements; at most ", kMaxPrompts, " are allowed."),
                   field);
}

// Rough size for comparing elements of one list.
int64_t Weight(const TextCounts& counts) {
  return counts.latin + counts.digits + counts.space + counts.other + 4 * (counts.cjk + counts.exact_tokens);
}

bool IsNumber(char first) { return first == '-' || (first >= '0' && first <= '9'); }

bool CountRaw(JsonScanner& json, TextCounts& counts) {
  absl::string_view raw;
  if (!json.TakeRaw(&raw)) return false;
  counts += CountText(raw);
  return true;
}

// One part of a message: text, an image, or something whose tokens cannot be forecast.
bool CountPart(JsonScanner& json, TextCounts& counts) {
  if (json.Peek() == '"') return json.CountString(&counts);
  return ForEachKey(json, [&](absl::string_view key) {
    if (key == "text" || key == "refusal" || key == "output") {
      return json.Peek() == '"' ? json.CountString(&counts) : json.Skip();
    }
    if (key == "image_url") {
      ++counts.images;
      counts.unforecastable = true;
    } else if (key == "input_audio" || key == "audio_url" || key == "video_url" || key == "file" || key == "file_id" ||
               key == "file_data") {
      counts.unforecastable = true;
    }
    return json.Skip();
  });
}

}  // namespace

// The fields that a message must have, and may have once.
struct PromptScan::Message {
  bool role = false;
  bool content = false;
  std::string role_name;
};

bool PromptScan::Refuse(ApiError error) {
  if (!error_) error_ = std::move(error);
  return true;
}

bool PromptScan::SkipWrong(JsonScanner& json, absl::string_view field, absl::string_view expected) {
  return Refuse(WrongPartType(field, expected)) && json.Skip();
}

std::string PromptScan::MessageField(absl::string_view member) const {
  return absl::StrCat("messages[", result_.text.messages, "]", member);
}

bool PromptScan::ReadContent(JsonScanner& json, absl::string_view field) {
  if (json.Peek() == '"') return json.CountString(&result_.text);
  if (json.Peek() == 'n') return json.Skip();
  if (json.Peek() != '[') return SkipWrong(json, field, kContentShapes);
  return json.ForEachElement([&] {
    const bool part = json.Peek() == '{' || json.Peek() == '"';
    return part ? CountPart(json, result_.text) : SkipWrong(json, field, kContentShapes);
  });
}

bool PromptScan::ReadMessageMember(JsonScanner& json, absl::string_view key, Message& message) {
  if (key == "role") {
    if (std::exchange(message.role, true)) Refuse(Duplicate(MessageField(""), key));
    if (json.Peek() != '"') return SkipWrong(json, MessageField(".role"), "a string");
    return json.CopyString(&message.role_name);
  }
  if (key == "content") {
    if (std::exchange(message.content, true)) Refuse(Duplicate(MessageField(""), key));
    return json.Peek() == '"' ? json.CountString(&result_.text) : ReadContent(json, MessageField(".content"));
  }
  if (key == "tool_calls" || key == "function_call") return CountRaw(json, result_.text);
  const bool text = json.Peek() == '"' && (key == "name" || key == "reasoning_content");
  return text ? json.CountString(&result_.text) : json.Skip();
}

bool PromptScan::ReadMessage(JsonScanner& json) {
  if (json.Peek() != '{') return SkipWrong(json, MessageField(""), "an object");
  Message message;
  if (!ForEachKey(json, [&](absl::string_view key) { return ReadMessageMember(json, key, message); })) return false;
  if (!message.role) {
    Refuse(MakeError(ErrorName::kMissingField, absl::StrCat("`", MessageField(".role"), "` is missing."),
                     MessageField(".role")));
  }
  ++result_.text.messages;
  result_.ends_with_assistant = message.role_name == "assistant";
  return true;
}

bool PromptScan::ReadMessages(JsonScanner& json) {
  if (json.Peek() != '[') return SkipWrong(json, "messages", "an array of messages");
  if (!json.ForEachElement([&] { return ReadMessage(json); })) return false;
  if (result_.text.messages == 0) Refuse(Empty("messages", "must have at least one message."));
  result_.largest = result_.text;
  result_.is_text = true;
  return true;
}

void PromptScan::AddPrompt(const TextCounts& counts) {
  result_.text += counts;
  if (Weight(counts) >= Weight(result_.largest)) result_.largest = counts;
}

// A list of token ids is exact; its elements must be integers.
bool PromptScan::ReadElement(JsonScanner& json, int64_t& ids, bool& wrong) {
  TextCounts counts;
  if (json.Peek() == '"') {
    if (!json.CountString(&counts)) return false;
  } else if (json.Peek() == '[') {
    const bool read = json.ForEachElement([&] {
      wrong |= !IsNumber(json.Peek());
      ++counts.exact_tokens;
      return json.Skip();
    });
    if (!read) return false;
    wrong |= counts.exact_tokens == 0;
  } else {
    IsNumber(json.Peek()) ? static_cast<void>(++ids) : static_cast<void>(wrong = true);
    return json.Skip();
  }
  AddPrompt(counts);
  return true;
}

bool PromptScan::ReadPrompt(JsonScanner& json, absl::string_view field) {
  TextCounts counts;
  if (json.Peek() == '"') {
    if (!json.CountString(&counts)) return false;
    AddPrompt(counts);
    result_.is_text = true;
    return true;
  }
  if (json.Peek() != '[') return SkipWrong(json, field, kPromptShapes);
  int64_t elements = 0;
  int64_t ids = 0;
  bool wrong = false;
  if (!json.ForEachElement([&] { return ++elements, ReadElement(json, ids, wrong); })) return false;
  if (elements == 0) return Refuse(Empty(field, "must not be empty."));
  if (ids == elements) {
    counts.exact_tokens = ids;
    AddPrompt(counts);
    return true;
  }
  if (elements > kMaxPrompts) return Refuse(TooMany(field, elements));
  if (wrong || ids > 0) return Refuse(WrongPartType(field, kPromptShapes));
  result_.prompts = elements;
  return true;
}

bool PromptScan::ReadItem(JsonScanner& json) {
  if (json.Peek() != '{') return SkipWrong(json, "input", "a string or an array of items");
  ++result_.text.messages;
  return ForEachKey(json, [&](absl::string_view key) {
    if (key == "content") return ReadContent(json, "input.content");
    return key == "arguments" || key == "output" ? CountRaw(json, result_.text) : json.Skip();
  });
}

bool PromptScan::ReadItems(JsonScanner& json) {
  if (json.Peek() == '"') {
    TextCounts counts;
    if (!json.CountString(&counts)) return false;
    counts.messages = 1;
    AddPrompt(counts);
    return true;
  }
  if (json.Peek() != '[') return SkipWrong(json, "input", "a string or an array of items");
  if (!json.ForEachElement([&] { return ReadItem(json); })) return false;
  if (result_.text.messages == 0) Refuse(Empty("input", "must have at least one item."));
  result_.largest = result_.text;
  return true;
}

bool PromptScan::ReadDocument(JsonScanner& json, const TextCounts& query) {
  TextCounts counts = query;
  if (json.Peek() == '"') {
    if (!json.CountString(&counts)) return false;
  } else if (json.Peek() == '{') {
    if (!CountRaw(json, counts)) return false;
  } else {
    return SkipWrong(json, "documents", "an array of strings or objects");
  }
  AddPrompt(counts);
  return true;
}

bool PromptScan::ReadDocuments(JsonScanner& json, const TextCounts& query) {
  if (json.Peek() != '[') return SkipWrong(json, "documents", "an array of texts");
  result_.prompts = 0;
  if (!json.ForEachElement([&] { return ++result_.prompts, ReadDocument(json, query); })) return false;
  if (result_.prompts == 0) return Refuse(Empty("documents", "must have at least one document."));
  return result_.prompts <= kMaxPrompts || Refuse(TooMany("documents", result_.prompts));
}

}  // namespace penstock
