#include "router/live/fleet_view.h"

#include <algorithm>

namespace penstock {

void NoteModels(FleetView& view, const std::vector<ModelId>& models, const std::optional<Capabilities>& engine) {
  for (ModelId id : models) {
    ModelAccess& model = view.models[id.value()];
    model.streams_everything = model.streams_everything && engine && engine->stream_everything;
    model.all_known = model.all_known && engine;
    if (!engine) continue;
    model.endpoints |= engine->endpoints;
    if (engine->Supports(Endpoint::kMessages)) model.endpoints |= EndpointSet{Endpoint::kMessages};
    model.names_responses = model.names_responses || engine->names_responses;
    for (const Endpoint endpoint : {Endpoint::kChat, Endpoint::kCompletions, Endpoint::kMessages}) {
      if (engine->Continues(endpoint)) model.continues |= EndpointSet{endpoint};
    }
    const OutputLimits limits = engine->output_limits;
    const bool known = std::any_of(model.output_limits.begin(), model.output_limits.end(),
                                   [limits](OutputLimits other) { return other.data() == limits.data(); });
    if (!known) model.output_limits.push_back(limits);
  }
}

}  // namespace penstock
