// The requests by which an engine loads and unloads LoRA adapters while it runs.
//
// The functions are pure. Constants: any thread may read them.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_ADAPTER_VERBS_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_ADAPTER_VERBS_H_

#include <string>

#include "backends/engines/contract/sleep_verbs.h"

namespace penstock {

struct AdapterVerbs {
  VerbRequest (*load)(const std::string& name, const std::string& path) = nullptr;  // Null: the engine has none.
  VerbRequest (*unload)(const std::string& name) = nullptr;
};

// {"lora_name": .., "lora_path": ..}, as vLLM and SGLang take it.
VerbRequest LoadLora(const char* route, const std::string& name, const std::string& path);
VerbRequest UnloadLora(const char* route, const std::string& name);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_ADAPTER_VERBS_H_
