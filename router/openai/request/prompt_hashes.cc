#include "router/openai/request/prompt_hashes.h"

#include <xxhash.h>

#include <algorithm>
#include <string>

#include "router/core/contract/event.h"

namespace penstock {
namespace {

// The message that begins a chat, cut at the window, if it is the program's and not the user's.
absl::string_view SystemMessage(const JsonValue& messages) {
  const absl::string_view window = messages.document.substr(0, messages.span.begin + kMostShapeBytes);
  const size_t first = window.find_first_not_of(" \n\r\t", messages.span.begin + 1);
  if (first == absl::string_view::npos || window[first] != '{') return {};
  // The role mostly comes first: a message of the user is not passed over.
  JsonObject members(JsonValue{window, {first, window.size()}});
  while (const auto member = members.Next()) {
    if (member->key != "role") continue;
    const std::string role = member->value.Text();
    return role == "system" || role == "developer" ? ValueAt(window, first).raw() : absl::string_view();
  }
  return {};
}

// A string with a character or more that is short enough; else empty.
std::string HintIn(const JsonValue& value) {
  if (value.kind() != JsonKind::kString || value.span.size() > kMostHintBytes) return "";
  return value.Text();
}

std::string NameIn(const RequestFields& fields, RequestField field) {
  const JsonValue* value = fields.Find(field);
  return value == nullptr ? "" : HintIn(*value);
}

// The user in the metadata of a message; empty: it has none.
std::string UserOfMetadata(const RequestFields& fields) {
  const JsonValue* metadata = fields.Find(RequestField::kMetadata);
  if (metadata == nullptr || metadata->kind() != JsonKind::kObject || metadata->span.size() > 4 * kMostHintBytes) {
    return "";
  }
  JsonObject members(*metadata);
  while (const auto member = members.Next()) {
    if (member->key == "user_id") return HintIn(member->value);
  }
  return "";
}

}  // namespace

std::vector<uint64_t> PrefixHashes(std::string_view prompt, std::string_view model) {
  std::vector<uint64_t> hashes(std::min(prompt.size() / kNamedBytes, kMostPrefixBlocks));
  uint64_t chain = XXH3_64bits(model.data(), model.size());
  for (size_t i = 0; i < hashes.size(); ++i) {
    chain = XXH3_64bits_withSeed(prompt.data() + i * kNamedBytes, kNamedBytes, chain);
    hashes[i] = chain;
  }
  return hashes;
}

uint64_t ShapeHash(const RequestFields& fields) {
  uint64_t hash = 0;
  const auto add = [&hash](RequestField field, absl::string_view part) {
    const size_t counted = std::min(part.size(), kMostShapeBytes);
    hash = XXH3_64bits_withSeed(part.data(), counted, hash ^ (static_cast<uint64_t>(field) + 1));
  };
  for (auto field = RequestField::kInstructions; field <= RequestField::kMinTokens;
       field = static_cast<RequestField>(static_cast<int>(field) + 1)) {
    const bool counts = field == RequestField::kInstructions || field == RequestField::kTools ||
                        field == RequestField::kFunctions || field >= RequestField::kResponseFormat;
    const JsonValue* value = counts ? fields.Find(field) : nullptr;
    if (value != nullptr) add(field, value->raw());
  }
  if (const JsonValue* system = fields.Find(RequestField::kSystem)) add(RequestField::kSystem, system->raw());
  const JsonValue* messages = fields.Find(RequestField::kMessages);
  if (messages == nullptr || messages->kind() != JsonKind::kArray) return hash;
  if (const absl::string_view system = SystemMessage(*messages); !system.empty()) add(RequestField::kMessages, system);
  return hash;
}

std::string SessionName(Endpoint endpoint, const RequestFields& fields) {
  std::string name = NameIn(fields, RequestField::kPromptCacheKey);
  if (name.empty() && endpoint == Endpoint::kMessages) name = UserOfMetadata(fields);
  return name.empty() ? NameIn(fields, RequestField::kUser) : name;
}

uint64_t SessionKey(absl::string_view header, absl::string_view in_body, TenantId tenant, ModelId model) {
  const absl::string_view name = header.empty() || header.size() > kMostHintBytes ? in_body : header;
  if (name.empty()) return 0;
  const uint64_t scope = XXH3_64bits_withSeed("session", 7, tenant.value()) ^ model.value();
  const uint64_t key = XXH3_64bits_withSeed(name.data(), name.size(), scope);
  return key == 0 ? 1 : key;
}

}  // namespace penstock
