#include "backends/engines/ollama/ollama_facts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "backends/dialect/json_values.h"

namespace penstock {
namespace {

std::string NameOf(const EngineJson& model) {
  const std::string name = MemberText(model, "name");
  return name.empty() ? MemberText(model, "model") : name;
}

std::string Tagged(const std::string& name) { return name.find(':') == std::string::npos ? name + ":latest" : name; }

std::string KeepAlive(const SleepTarget& target, int time) {
  return EngineJson{{"model", target.model}, {"keep_alive", time}}.dump();
}

}  // namespace

absl::Status ReadOllamaVersion(absl::string_view body, Discovery* found) {
  found->version = MemberText(ParseEngineJson(body), "version");
  return absl::OkStatus();
}

absl::Status ReadOllamaTags(absl::string_view body, Discovery* found) {
  const EngineJson document = ParseEngineJson(body);
  const EngineJson& models = Member(document, "models");
  if (!models.is_array()) return absl::InvalidArgumentError("tags: no models array");
  found->process_per_model = true;
  for (const EngineJson& model : models) {
    std::string name = NameOf(model);
    if (!IsModelName(name)) {
      NoteLeftOut(name, &found->left_out);
    } else if (found->models.size() < kMostModels) {
      found->models.push_back(ServedModel{std::move(name), Tokens(0), "", ""});
    } else {
      ++found->models_beyond;
    }
  }
  return absl::OkStatus();
}

absl::Status ReadOllamaLoaded(absl::string_view body, Discovery* found) {
  const EngineJson document = ParseEngineJson(body);
  const EngineJson& models = Member(document, "models");
  if (!models.is_array()) return absl::InvalidArgumentError("ps: no models array");
  absl::flat_hash_map<std::string, Tokens> contexts;
  for (const EngineJson& model : models) {
    contexts[NameOf(model)] = Tokens(std::max<int64_t>(0, MemberInt(model, "context_length")));
  }
  for (ServedModel& served : found->models) {
    if (const auto loaded = contexts.find(served.name); loaded != contexts.end()) served.max_context = loaded->second;
  }
  return absl::OkStatus();
}

std::vector<VerbRequest> OllamaSleep(const SleepTarget& target) { return {{"/api/generate", KeepAlive(target, 0)}}; }

std::vector<VerbRequest> OllamaWake(const SleepTarget& target) { return {{"/api/embed", KeepAlive(target, -1)}}; }

EngineRest ReadOllamaRest(absl::string_view body, const SleepTarget& target) {
  const EngineJson document = ParseEngineJson(body);
  const EngineJson& models = Member(document, "models");
  if (!models.is_array()) return EngineRest::kUnknown;
  const bool loaded = std::any_of(models.begin(), models.end(), [&](const EngineJson& model) {
    return Tagged(MemberText(model, "name")) == Tagged(target.model) ||
           Tagged(MemberText(model, "model")) == Tagged(target.model);
  });
  return loaded ? EngineRest::kAwake : EngineRest::kAsleep;
}

}  // namespace penstock
