#include "backends/engines/discovery.h"

#include <utility>

namespace penstock {
namespace {

constexpr std::pair<EngineKind, const char*> kNames[] = {
    {EngineKind::kAuto, "auto"},     {EngineKind::kVllm, "vllm"},     {EngineKind::kSglang, "sglang"},
    {EngineKind::kTgi, "tgi"},       {EngineKind::kOllama, "ollama"}, {EngineKind::kLlamaCpp, "llamacpp"},
    {EngineKind::kOpenAi, "openai"},
};

}  // namespace

absl::string_view EngineKindName(EngineKind kind) {
  for (const auto& [candidate, name] : kNames) {
    if (candidate == kind) return name;
  }
  return "openai";
}

std::optional<EngineKind> EngineKindFromName(absl::string_view name) {
  for (const auto& [kind, candidate] : kNames) {
    if (name == candidate) return kind;
  }
  return std::nullopt;
}

}  // namespace penstock
