// The tools and the settings of a request, as a chat has them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "router/anthropic/chat_request.h"

namespace penstock::anthropic {
namespace {

std::optional<JsonValue> MemberOf(const JsonValue& object, absl::string_view name) {
  if (object.kind() != JsonKind::kObject) return std::nullopt;
  std::optional<JsonValue> found;
  JsonObject members(object);
  while (const auto member = members.Next()) {
    if (member->key == name) found = member->value;
  }
  return found && found->kind() != JsonKind::kNull ? found : std::nullopt;
}

bool IsWord(const std::optional<JsonValue>& value, absl::string_view word) {
  return value && value->kind() == JsonKind::kString && value->inside() == word;
}

}  // namespace

void ChatRequest::AddTool(const JsonValue& tool) {
  const std::string place = absl::StrCat("tools[", tool_, "]");
  if (tool.span.size() > kLongestPart) {
    return Refuse(ErrorName::kInvalidValue, place, absl::StrCat("must be at most ", kLongestPart, " bytes long."));
  }
  const std::optional<JsonValue> type = MemberOf(tool, "type"), name = MemberOf(tool, "name");
  if (type && !IsWord(type, "custom")) {
    return Refuse(ErrorName::kUnsupportedField, absl::StrCat(place, ".type"),
                  "names a tool that Anthropic's servers run; no engine of the model does.");
  }
  if (!name || name->kind() != JsonKind::kString) {
    return Refuse(ErrorName::kWrongType, absl::StrCat(place, ".name"), "must be a string.");
  }
  out_.Add(tool_++ > 0 ? ",{\"type\":\"function\",\"function\":{\"name\":"
                       : "{\"type\":\"function\",\"function\":{\"name\":");
  out_.Add(name->span);
  if (const auto description = MemberOf(tool, "description")) {
    out_.Add(",\"description\":");
    out_.Add(description->span);
  }
  if (const auto schema = MemberOf(tool, "input_schema")) {
    out_.Add(",\"parameters\":");
    out_.Add(schema->span);
  }
  out_.Add("}}");
}

void ChatRequest::AddToolChoice() {
  const std::optional<JsonValue> choice = fields_.Find(Field::kToolChoice);
  if (!choice) return;
  const std::optional<JsonValue> type = MemberOf(*choice, "type"), name = MemberOf(*choice, "name");
  if (IsWord(type, "tool") && name && name->kind() == JsonKind::kString) {
    out_.Add(",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":");
    out_.Add(name->span);
    out_.Add("}}");
  } else if (IsWord(type, "auto") || IsWord(type, "none")) {
    out_.Add(IsWord(type, "auto") ? ",\"tool_choice\":\"auto\"" : ",\"tool_choice\":\"none\"");
  } else if (IsWord(type, "any")) {
    out_.Add(",\"tool_choice\":\"required\"");
  } else {
    return Refuse(ErrorName::kInvalidValue, "tool_choice",
                  "must have the type `auto`, `any`, `none`, or `tool` with a name.");
  }
  const std::optional<JsonValue> one = MemberOf(*choice, "disable_parallel_tool_use");
  if (one && one->IsTrue()) out_.Add(",\"parallel_tool_calls\":false");
}

void ChatRequest::AddFormat() {
  const std::optional<JsonValue> config = fields_.Find(Field::kOutputConfig);
  std::optional<JsonValue> format = fields_.Find(Field::kOutputFormat);
  if (config && !format) format = MemberOf(*config, "format");
  if (format) {
    const std::optional<JsonValue> schema = MemberOf(*format, "schema");
    if (!IsWord(MemberOf(*format, "type"), "json_schema") || !schema) {
      return Refuse(ErrorName::kUnsupportedField, "output_format", "must be a JSON schema.");
    }
    out_.Add(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"response\",\"schema\":");
    out_.Add(schema->span);
    out_.Add("}}");
  }
  const std::optional<JsonValue> effort = config ? MemberOf(*config, "effort") : std::nullopt;
  if (!effort) return;
  out_.Add(",\"reasoning_effort\":");
  out_.Add(effort->span);
}

void ChatRequest::AddThinking() {
  const std::optional<JsonValue> thinking = fields_.Find(Field::kThinking);
  if (!thinking) return;
  const std::optional<JsonValue> kind = MemberOf(*thinking, "type");
  // An adaptive one is the engine's own choice.
  if (IsWord(kind, "adaptive")) return;
  const bool on = IsWord(kind, "enabled");
  if (!on && !IsWord(kind, "disabled")) {
    return Refuse(ErrorName::kInvalidValue, "thinking", "must have the type `enabled`, `disabled` or `adaptive`.");
  }
  out_.Add(absl::StrCat(",\"chat_template_kwargs\":{\"enable_thinking\":", on ? "true" : "false", "}"));
}

void ChatRequest::AddSettings() {
  for (const Field field : {Field::kToolChoice, Field::kThinking, Field::kMetadata, Field::kOutputConfig,
                            Field::kOutputFormat, Field::kStopSequences}) {
    const std::optional<JsonValue> value = fields_.Find(field);
    if (!value || value->span.size() <= kLongestPart) continue;
    return Refuse(ErrorName::kInvalidValue, NameOf(field),
                  absl::StrCat("must be at most ", kLongestPart, " bytes long."));
  }
  for (const Field field : {Field::kMetadata, Field::kOutputConfig, Field::kOutputFormat}) {
    const std::optional<JsonValue> value = fields_.Find(field);
    if (!value || value->kind() == JsonKind::kObject) continue;
    return Refuse(ErrorName::kWrongType, NameOf(field), "must be an object.");
  }
  for (const Field field : {Field::kContainer, Field::kMcpServers}) {
    const std::optional<JsonValue> value = fields_.Find(field);
    if (!value || value->raw() == "[]") continue;
    return Refuse(ErrorName::kUnsupportedField, NameOf(field), "needs Anthropic's servers; leave it out.");
  }
  if (const std::optional<JsonValue> limit = fields_.Find(Field::kMaxTokens)) {
    const int64_t left = limit->Integer().value_or(0) - order_.already_generated;
    out_.Add(absl::StrCat(",\"max_tokens\":", std::max<int64_t>(1, left)));
  }
  const std::pair<Field, absl::string_view> same[] = {{Field::kStopSequences, "stop"},
                                                      {Field::kTemperature, "temperature"},
                                                      {Field::kTopP, "top_p"},
                                                      {Field::kTopK, "top_k"}};
  for (const auto& [field, name] : same) {
    const std::optional<JsonValue> value = fields_.Find(field);
    if (!value) continue;
    out_.Add(absl::StrCat(",\"", name, "\":"));
    out_.Add(value->span);
  }
  AddToolChoice();
  AddFormat();
  AddThinking();
  const std::optional<JsonValue> metadata = fields_.Find(Field::kMetadata);
  const std::optional<JsonValue> user = metadata ? MemberOf(*metadata, "user_id") : std::nullopt;
  if (user && user->kind() == JsonKind::kString) {
    out_.Add(",\"user\":");
    out_.Add(user->span);
  }
  out_.Add("}");
}

}  // namespace penstock::anthropic
