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

}  // namespace

std::vector<uint64_t> PrefixHashes(std::string_view prompt, ModelId model) {
  std::vector<uint64_t> hashes(std::min(prompt.size() / kNamedBytes, kMostPrefixBlocks));
  uint64_t chain = model.value();
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

}  // namespace penstock
