#include "backends/engines/catalogue/engine_catalogue.h"

#include <algorithm>
#include <vector>

#include "absl/strings/strip.h"
#include "backends/engines/llamacpp/llamacpp.h"
#include "backends/engines/ollama/ollama.h"
#include "backends/engines/openai/openai.h"
#include "backends/engines/sglang/sglang.h"
#include "backends/engines/tgi/tgi.h"
#include "backends/engines/vllm/vllm.h"

namespace penstock {
namespace {

// SGLang stands before Ollama because it also answers some routes of Ollama.
constexpr const EngineDeclaration* kEngines[] = {
    &kVllmEngine,      //
    &kLlamaCppEngine,  //
    &kSglangEngine,    //
    &kTgiEngine,       //
    &kOllamaEngine,    //
    &kOpenAiEngine,    //
};

// The first declaration that `matches`, or null.
template <class Matches>
const EngineDeclaration* First(Matches matches) {
  const auto found = std::find_if(std::begin(kEngines), std::end(kEngines),
                                  [&](const EngineDeclaration* engine) { return matches(*engine); });
  return found == std::end(kEngines) ? nullptr : *found;
}

}  // namespace

absl::Span<const EngineDeclaration* const> EngineCatalogue() { return kEngines; }

const EngineDeclaration& EngineOf(EngineKind kind) {
  const EngineDeclaration* engine = First([&](const EngineDeclaration& each) { return each.kind == kind; });
  return engine == nullptr ? kOpenAiEngine : *engine;
}

const EngineDeclaration* EngineByName(absl::string_view name) {
  return First([&](const EngineDeclaration& engine) { return engine.name == name; });
}

const EngineDeclaration* EngineByOwner(absl::string_view owner) {
  if (owner.empty()) return nullptr;
  return First([&](const EngineDeclaration& engine) { return engine.owner == owner; });
}

OutputLimits AllOutputLimits() {
  static const std::vector<OutputLimit> all = [] {
    std::vector<OutputLimit> rows;
    for (const EngineDeclaration* engine : kEngines) {
      for (const OutputLimit& limit : engine->capabilities.output_limits) {
        const auto same = std::find_if(
            rows.begin(), rows.end(), [&limit](const OutputLimit& row) { return row.Is(limit.field, limit.endpoint); });
        if (same == rows.end()) {
          rows.push_back(limit);
        } else if (!same->unlimited) {
          same->unlimited = limit.unlimited;
        }
      }
    }
    return rows;
  }();
  return all;
}

bool IsPoolOverflow(absl::string_view message) {
  return First([&](const EngineDeclaration& engine) {
           const absl::string_view overflow = engine.overflow_message;
           return !overflow.empty() && absl::StripSuffix(message, ".") == overflow;
         }) != nullptr;
}

}  // namespace penstock
