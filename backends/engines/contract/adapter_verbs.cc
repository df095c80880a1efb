#include "backends/engines/contract/adapter_verbs.h"

#include "backends/dialect/json_values.h"

namespace penstock {

VerbRequest LoadLora(const char* route, const std::string& name, const std::string& path) {
  return {route, EngineJson{{"lora_name", name}, {"lora_path", path}}.dump()};
}

VerbRequest UnloadLora(const char* route, const std::string& name) {
  return {route, EngineJson{{"lora_name", name}}.dump()};
}

}  // namespace penstock
