#include "backends/engines/ollama/ollama_facts.h"

#include <algorithm>

#include "backends/dialect/json_values.h"

namespace penstock {
namespace {

std::string NameOf(const EngineJson& model) {
  const std::string name = MemberText(model, "name");
  return name.empty() ? MemberText(model, "model") : name;
}

}  // namespace

std::string ParseOllamaVersion(absl::string_view body) { return MemberText(ParseEngineJson(body), "version"); }

absl::StatusOr<std::vector<ServedModel>> ParseOllamaModels(absl::string_view tags, absl::string_view loaded) {
  const EngineJson installed = ParseEngineJson(tags);
  const EngineJson& installed_models = Member(installed, "models");
  if (!installed_models.is_array()) return absl::InvalidArgumentError("tags: no models array");
  std::vector<ServedModel> models;
  for (const EngineJson& model : installed_models) {
    if (std::string name = NameOf(model); !name.empty()) models.push_back(ServedModel{std::move(name), Tokens(0)});
  }
  const EngineJson running = ParseEngineJson(loaded);
  const EngineJson& running_models = Member(running, "models");
  if (!running_models.is_array()) return models;
  for (const EngineJson& model : running_models) {
    const std::string name = NameOf(model);
    for (ServedModel& served : models) {
      if (served.name == name) served.max_context = Tokens(std::max<int64_t>(0, MemberInt(model, "context_length")));
    }
  }
  return models;
}

}  // namespace penstock
