// The list of all engines that Penstock knows.
//
// Pure and constant: any thread may read it. CONTRIBUTING.md says how to add an engine.
#ifndef PENSTOCK_BACKENDS_ENGINES_CATALOGUE_ENGINE_CATALOGUE_H_
#define PENSTOCK_BACKENDS_ENGINES_CATALOGUE_ENGINE_CATALOGUE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/engines/contract/engine_declaration.h"

namespace penstock {

// All declarations, in the order in which recognition tries their signs. The last one is the generic server, which has
// no sign.
absl::Span<const EngineDeclaration* const> EngineCatalogue();

const EngineDeclaration& EngineOf(EngineKind kind);

// The engine with this name. Null for other names, such as "auto".
const EngineDeclaration* EngineByName(absl::string_view name);

// The engine whose list of models has this `owned_by`. Null when the owner identifies no engine.
const EngineDeclaration* EngineByOwner(absl::string_view owner);

// The rows of all engines, each field once per endpoint.
OutputLimits AllOutputLimits();

// True when `message` is the error that an engine sends to each running request after its shared KV pool was exhausted.
bool IsPoolOverflow(absl::string_view message);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CATALOGUE_ENGINE_CATALOGUE_H_
