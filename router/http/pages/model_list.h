// The models of the fleet as /v1/models tells them: context, state, and the endpoints that their engines have.
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_MODEL_LIST_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_MODEL_LIST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/core/contract/view.h"
#include "router/live/fleet_view.h"

namespace penstock {

// The best first.
enum class ModelState : uint8_t {
  kUp,  // A replica serves it.
  kWaking,
  kAsleep,  // A replica wakes for its next request.
  kDown,
};
absl::string_view LabelOf(ModelState state);

// The state of one model: that of its best replica.
ModelState StateOf(const FleetView& fleet, const CoreView& view, ModelId model);

// One model, known to the fleet. `created` is a time in seconds, the same for all.
std::string ModelJson(const FleetView& fleet, const CoreView& view, absl::string_view name, int64_t created);
// All models with their aliases.
std::string ModelsJson(const FleetView& fleet, const CoreView& view, int64_t created);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_MODEL_LIST_H_
