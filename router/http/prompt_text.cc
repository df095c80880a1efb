#include "router/http/prompt_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "router/http/request_scan.h"

namespace penstock {
namespace {

using MaybeError = std::optional<ApiError>;

ApiError WrongType(absl::string_view field, absl::string_view expected) {
  return BadRequest(BadInput::kWrongType, absl::StrCat("`", field, "` must be ", expected, "."), field, "invalid_type");
}

ApiError Duplicate(absl::string_view field, absl::string_view key) {
  return BadRequest(BadInput::kDuplicateKey, absl::StrCat("The key `", key, "` occurs twice in `", field, "`."), field,
                    "duplicate_key");
}

// Rough size for comparing elements of one list.
int64_t Weight(const TextCounts& counts) {
  return counts.latin + counts.digits + counts.space + counts.other + 4 * (counts.cjk + counts.exact_tokens);
}

int64_t CountElements(const JsonValue& array) {
  JsonArray elements(array);
  int64_t count = 0;
  while (elements.Next()) ++count;
  return count;
}

// One part of a message: text, an image, or something whose tokens cannot be forecast.
void CountPart(const JsonValue& part, TextCounts& counts) {
  if (part.kind() == JsonKind::kString) {
    counts += CountJsonString(part.inside());
    return;
  }
  if (part.kind() != JsonKind::kObject) return;
  JsonObject members(part);
  while (const auto member = members.Next()) {
    const bool text = member->key == "text" || member->key == "refusal" || member->key == "output";
    if (text && member->value.kind() == JsonKind::kString) {
      counts += CountJsonString(member->value.inside());
    } else if (member->key == "image_url") {
      ++counts.images;
      counts.unforecastable = true;
    } else if (member->key == "input_audio" || member->key == "audio_url" || member->key == "video_url" ||
               member->key == "file" || member->key == "file_id" || member->key == "file_data") {
      counts.unforecastable = true;
    }
  }
}

MaybeError CountContent(const JsonValue& content, absl::string_view field, TextCounts& counts) {
  switch (content.kind()) {
    case JsonKind::kString:
      counts += CountJsonString(content.inside());
      return std::nullopt;
    case JsonKind::kNull:
      return std::nullopt;
    case JsonKind::kArray: {
      JsonArray parts(content);
      while (const auto part = parts.Next()) {
        if (part->kind() != JsonKind::kObject && part->kind() != JsonKind::kString) {
          return WrongType(field, "a string or an array of content parts");
        }
        CountPart(*part, counts);
      }
      return std::nullopt;
    }
    default:
      return WrongType(field, "a string or an array of content parts");
  }
}

struct MessageSeen {
  bool role = false;
  bool content = false;
  std::string role_name;
};

MaybeError CountMessageMember(const JsonObject::Member& member, absl::string_view field, MessageSeen& seen,
                              TextCounts& counts) {
  if (member.key == "role") {
    if (seen.role) return Duplicate(field, "role");
    if (member.value.kind() != JsonKind::kString) return WrongType(absl::StrCat(field, ".role"), "a string");
    seen.role = true;
    seen.role_name = member.value.Text();
  } else if (member.key == "content") {
    if (seen.content) return Duplicate(field, "content");
    seen.content = true;
    return CountContent(member.value, absl::StrCat(field, ".content"), counts);
  } else if (member.key == "tool_calls" || member.key == "function_call") {
    counts += CountText(member.value.raw());
  } else if (member.value.kind() == JsonKind::kString && (member.key == "name" || member.key == "reasoning_content")) {
    counts += CountJsonString(member.value.inside());
  }
  return std::nullopt;
}

// A list of token ids is exact; its elements must be integers.
std::optional<int64_t> TokenIds(const JsonValue& array) {
  JsonArray elements(array);
  int64_t count = 0;
  while (const auto element = elements.Next()) {
    if (element->kind() != JsonKind::kNumber) return std::nullopt;
    ++count;
  }
  return count;
}

// One element of a prompt list.
bool CountElement(const JsonValue& element, TextCounts& counts) {
  if (element.kind() == JsonKind::kString) {
    counts += CountJsonString(element.inside());
    return true;
  }
  if (element.kind() != JsonKind::kArray) return false;
  const std::optional<int64_t> ids = TokenIds(element);
  if (!ids || *ids == 0) return false;
  counts.exact_tokens += *ids;
  return true;
}

void AddPrompt(const TextCounts& counts, PromptText& result) {
  result.text += counts;
  if (Weight(counts) >= Weight(result.largest)) result.largest = counts;
}

MaybeError TooMany(absl::string_view field, int64_t count) {
  if (count <= kMaxPrompts) return std::nullopt;
  return BadRequest(BadInput::kOutOfRange,
                    absl::StrCat("`", field, "` has ", count, " elements; at most ", kMaxPrompts, " are allowed."),
                    field, "array_above_max_length");
}

}  // namespace

PromptResult CountMessages(const JsonValue& messages) {
  if (messages.kind() != JsonKind::kArray) return WrongType("messages", "an array of messages");
  PromptText result;
  JsonArray elements(messages);
  while (const auto message = elements.Next()) {
    const std::string field = absl::StrCat("messages[", result.text.messages, "]");
    if (message->kind() != JsonKind::kObject) return WrongType(field, "an object");
    MessageSeen seen;
    JsonObject members(*message);
    while (const auto member = members.Next()) {
      if (MaybeError error = CountMessageMember(*member, field, seen, result.text)) return *std::move(error);
    }
    if (!seen.role) {
      return BadRequest(BadInput::kMissingField, absl::StrCat("`", field, ".role` is missing."),
                        absl::StrCat(field, ".role"), "missing_required_parameter");
    }
    ++result.text.messages;
    result.ends_with_assistant = seen.role_name == "assistant";
  }
  if (result.text.messages == 0) {
    return BadRequest(BadInput::kOutOfRange, "`messages` must have at least one message.", "messages", "empty_array");
  }
  result.largest = result.text;
  result.is_text = true;
  return result;
}

PromptResult CountPrompt(const JsonValue& prompt, absl::string_view field) {
  constexpr absl::string_view kShapes = "a string, a list of strings, a list of token ids, or a list of such lists";
  PromptText result;
  if (prompt.kind() == JsonKind::kString) {
    AddPrompt(CountJsonString(prompt.inside()), result);
    result.is_text = true;
    return result;
  }
  if (prompt.kind() != JsonKind::kArray) return WrongType(field, kShapes);
  const int64_t elements_count = CountElements(prompt);
  if (elements_count == 0) {
    return BadRequest(BadInput::kOutOfRange, absl::StrCat("`", field, "` must not be empty."), field, "empty_array");
  }
  if (const std::optional<int64_t> ids = TokenIds(prompt)) {
    TextCounts counts;
    counts.exact_tokens = *ids;
    AddPrompt(counts, result);
    return result;
  }
  if (MaybeError error = TooMany(field, elements_count)) return *std::move(error);
  result.prompts = elements_count;
  JsonArray elements(prompt);
  while (const auto element = elements.Next()) {
    TextCounts counts;
    if (!CountElement(*element, counts)) return WrongType(field, kShapes);
    AddPrompt(counts, result);
  }
  return result;
}

PromptResult CountItems(const JsonValue& input) {
  PromptText result;
  if (input.kind() == JsonKind::kString) {
    AddPrompt(CountJsonString(input.inside()), result);
    result.text.messages = result.largest.messages = 1;
    return result;
  }
  if (input.kind() != JsonKind::kArray) return WrongType("input", "a string or an array of items");
  JsonArray items(input);
  while (const auto item = items.Next()) {
    if (item->kind() != JsonKind::kObject) return WrongType("input", "a string or an array of items");
    JsonObject members(*item);
    while (const auto member = members.Next()) {
      if (member->key == "content") {
        if (MaybeError error = CountContent(member->value, "input.content", result.text)) return *std::move(error);
      } else if (member->key == "arguments" || member->key == "output") {
        result.text += CountText(member->value.raw());
      }
    }
    ++result.text.messages;
  }
  if (result.text.messages == 0) {
    return BadRequest(BadInput::kOutOfRange, "`input` must have at least one item.", "input", "empty_array");
  }
  result.largest = result.text;
  return result;
}

PromptResult CountDocuments(const JsonValue& query, const JsonValue& documents) {
  if (query.kind() != JsonKind::kString) return WrongType("query", "a string");
  if (documents.kind() != JsonKind::kArray) return WrongType("documents", "an array of texts");
  const TextCounts of_query = CountJsonString(query.inside());
  PromptText result;
  result.prompts = CountElements(documents);
  if (result.prompts == 0) {
    return BadRequest(BadInput::kOutOfRange, "`documents` must have at least one document.", "documents",
                      "empty_array");
  }
  if (MaybeError error = TooMany("documents", result.prompts)) return *std::move(error);
  JsonArray elements(documents);
  while (const auto document = elements.Next()) {
    TextCounts counts = of_query;
    if (document->kind() == JsonKind::kString) {
      counts += CountJsonString(document->inside());
    } else if (document->kind() == JsonKind::kObject) {
      counts += CountText(document->raw());
    } else {
      return WrongType("documents", "an array of strings or objects");
    }
    AddPrompt(counts, result);
  }
  return result;
}

}  // namespace penstock
