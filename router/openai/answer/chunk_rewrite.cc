#include "router/openai/answer/chunk_rewrite.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/openai/request/json_cursor.h"

namespace penstock {
namespace {

std::string UsageJson(const Usage& usage) {
  std::string json =
      absl::StrCat("{\"prompt_tokens\":", usage.prompt.value(), ",\"completion_tokens\":", usage.output.value(),
                   ",\"total_tokens\":", (usage.prompt + usage.output).value());
  if (usage.cached >= Tokens(0)) {
    absl::StrAppend(&json, ",\"prompt_tokens_details\":{\"cached_tokens\":", usage.cached.value(), "}");
  }
  return json + "}";
}

// ChunkNames, const or not.
template <class Names>
auto NameOf(Names& names, absl::string_view key) -> decltype(&names.id) {
  if (key == "id") return &names.id;
  if (key == "created") return &names.created;
  if (key == "model") return &names.model;
  return key == "system_fingerprint" ? &names.fingerprint : nullptr;
}

// The opening of a chunk, up to the value of its `choices`.
std::string ChunkHead(Endpoint endpoint, const ChunkNames& names) {
  std::string head = absl::StrCat("data: {\"id\":", names.id.empty() ? "null" : names.id, ",\"object\":\"",
                                  endpoint == Endpoint::kChat ? "chat.completion.chunk" : "text_completion", "\"");
  if (!names.created.empty()) absl::StrAppend(&head, ",\"created\":", names.created);
  if (!names.model.empty()) absl::StrAppend(&head, ",\"model\":", names.model);
  if (!names.fingerprint.empty()) absl::StrAppend(&head, ",\"system_fingerprint\":", names.fingerprint);
  absl::StrAppend(&head, ",\"choices\":");
  return head;
}

}  // namespace

ChunkNames ReadChunkNames(absl::string_view data) {
  ChunkNames names;
  const JsonValue chunk = ValueAt(data, 0);
  if (chunk.kind() != JsonKind::kObject) return names;
  JsonObject members(chunk);
  while (const auto member = members.Next()) {
    std::string* const name = NameOf(names, member->key);
    if (name == nullptr) continue;
    name->clear();
    AppendOnOneLine(member->value.raw(), *name);
  }
  return names;
}

void AppendOnOneLine(absl::string_view data, std::string& line) {
  const size_t begin = line.size();
  absl::StrAppend(&line, data);
  for (size_t i = line.find_first_of("\r\n", begin); i != std::string::npos; i = line.find_first_of("\r\n", i)) {
    line[i] = ' ';
  }
}

std::string RewriteChunk(absl::string_view data, const ChunkNames& names, const ChunkEdit& edit) {
  std::string event = "data: ";
  size_t copied = 0;
  const auto replace = [&](const JsonSpan& at, absl::string_view text) {
    AppendOnOneLine(data.substr(copied, at.begin - copied), event);
    absl::StrAppend(&event, text);
    copied = at.end;
  };
  JsonSpan content;
  if (edit.new_content) {
    content.begin = static_cast<size_t>(edit.content.data() - data.data());
    content.end = content.begin + edit.content.size();
  }
  const JsonValue chunk = ValueAt(data, 0);
  if (chunk.kind() == JsonKind::kObject) {
    JsonObject members(chunk);
    while (const auto member = members.Next()) {
      const JsonSpan at = member->value.span;
      const std::string* name = NameOf(names, member->key);
      if (name != nullptr && !name->empty()) {
        replace(at, *name);
      } else if (member->key == "usage" && member->value.kind() == JsonKind::kObject) {
        replace(at, UsageJson(edit.usage));
      } else if (edit.new_content && content.begin >= at.begin && content.end <= at.end) {
        replace(content, *edit.new_content);
      }
    }
  }
  AppendOnOneLine(data.substr(copied), event);
  absl::StrAppend(&event, "\n\n");
  return event;
}

std::string ClosingEvents(Endpoint endpoint, const ChunkNames& names, absl::string_view finish_reason,
                          const std::optional<Usage>& usage) {
  std::string events;
  if (!finish_reason.empty()) {
    absl::StrAppend(&events, ChunkHead(endpoint, names), "[{\"index\":0,",
                    endpoint == Endpoint::kChat ? "\"delta\":{}" : "\"text\":\"\"", ",\"finish_reason\":\"",
                    finish_reason, "\"}]}\n\n");
  }
  if (usage) absl::StrAppend(&events, ChunkHead(endpoint, names), "[],\"usage\":", UsageJson(*usage), "}\n\n");
  absl::StrAppend(&events, "data: [DONE]\n\n");
  return events;
}

absl::string_view TrailingSpace(absl::string_view inside) {
  absl::string_view rest = inside;
  while (!rest.empty()) {
    if (rest.back() == ' ') {
      rest.remove_suffix(1);
      continue;
    }
    const absl::string_view last = rest.size() >= 2 ? rest.substr(rest.size() - 2) : absl::string_view();
    if (last != "\\n" && last != "\\t" && last != "\\r") break;
    // An even number of backslashes before the letter is text that ends in a backslash, not a line break.
    size_t backslashes = 0;
    while (backslashes < rest.size() - 1 && rest[rest.size() - 2 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) break;
    rest.remove_suffix(2);
  }
  return inside.substr(rest.size());
}

}  // namespace penstock
