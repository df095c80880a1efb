#include "router/http/chunk_rewrite.h"

#include "absl/strings/str_cat.h"
#include "router/http/json_cursor.h"

namespace penstock {
namespace {

void ReadDelta(const JsonValue& delta, ChunkParts& parts) {
  bool role = false;
  JsonObject members(delta);
  while (const auto member = members.Next()) {
    const bool null = member->value.kind() == JsonKind::kNull;
    if (member->key == "content") {
      parts.text = member->value.Text();
    } else if (member->key == "role") {
      role = true;
    } else if (!null && member->value.raw() != "[]" && member->value.raw() != "\"\"") {
      parts.uncontinuable = true;
    }
  }
  parts.opens = role && parts.text.empty();
}

void ReadChoice(Endpoint endpoint, const JsonValue& choice, ChunkParts& parts) {
  JsonObject members(choice);
  while (const auto member = members.Next()) {
    if (endpoint == Endpoint::kChat && member->key == "delta" && member->value.kind() == JsonKind::kObject) {
      ReadDelta(member->value, parts);
    } else if (endpoint == Endpoint::kCompletions && member->key == "text") {
      parts.text = member->value.Text();
    } else if (member->key == "finish_reason" && member->value.kind() != JsonKind::kNull) {
      parts.opens = false;
    }
  }
}

}  // namespace

ChunkParts ReadChunk(Endpoint endpoint, absl::string_view data) {
  ChunkParts parts;
  const JsonValue chunk = ValueAt(data, 0);
  if (chunk.kind() != JsonKind::kObject) return parts;
  JsonObject members(chunk);
  while (const auto member = members.Next()) {
    if (member->key == "id") {
      parts.id = member->value.raw();
    } else if (member->key == "created") {
      parts.created = member->value.raw();
    } else if (member->key == "choices" && member->value.kind() == JsonKind::kArray) {
      JsonArray choices(member->value);
      const auto first = choices.Next();
      if (first && first->kind() == JsonKind::kObject) ReadChoice(endpoint, *first, parts);
    }
  }
  return parts;
}

std::string RewriteChunk(absl::string_view data, absl::string_view id, absl::string_view created, const Usage& usage) {
  std::string event = "data: ";
  size_t copied = 0;
  const auto replace = [&](const JsonSpan& at, absl::string_view text) {
    absl::StrAppend(&event, data.substr(copied, at.begin - copied), text);
    copied = at.end;
  };
  const JsonValue chunk = ValueAt(data, 0);
  if (chunk.kind() == JsonKind::kObject) {
    JsonObject members(chunk);
    while (const auto member = members.Next()) {
      if (member->key == "id" && !id.empty()) {
        replace(member->value.span, id);
      } else if (member->key == "created" && !created.empty()) {
        replace(member->value.span, created);
      } else if (member->key == "usage" && member->value.kind() == JsonKind::kObject) {
        replace(member->value.span, absl::StrCat("{\"prompt_tokens\":", usage.prompt.value(),
                                                 ",\"completion_tokens\":", usage.output.value(),
                                                 ",\"total_tokens\":", (usage.prompt + usage.output).value(), "}"));
      }
    }
  }
  absl::StrAppend(&event, data.substr(copied), "\n\n");
  return event;
}

}  // namespace penstock
