#include "router/http/pages/model_list.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "router/openai/error/api_error.h"

namespace penstock {
namespace {

ModelState StateOf(const ReplicaView& replica) {
  const bool reached = replica.health == Health::kUp || replica.health == Health::kProbing;
  if (replica.residency == Residency::kWaking) return ModelState::kWaking;
  if (replica.residency != Residency::kAwake)
    return replica.health == Health::kDown ? ModelState::kDown : ModelState::kAsleep;
  return reached ? ModelState::kUp : ModelState::kDown;
}

// The states of the replicas by name, so that a list of many models stays cheap.
using States = absl::flat_hash_map<absl::string_view, ModelState>;

States StatesOf(const CoreView& view) {
  States states;
  for (const ReplicaView& replica : view.replicas) states[replica.name] = StateOf(replica);
  return states;
}

ModelState BestOf(const FleetView& fleet, const States& states, ModelId model) {
  ModelState best = ModelState::kDown;
  for (const ReplicaSpec& replica : fleet.book.fleet().replicas) {
    if (replica.removed || !replica.Serves(model)) continue;
    const auto found = states.find(replica.name);
    if (found != states.end() && found->second < best) best = found->second;
  }
  return best;
}

// The base and the path of an adapter.
void AddParent(const FleetView& fleet, absl::string_view name, std::string* json) {
  const std::optional<ModelId> model = fleet.book.ModelByName(name);
  const std::optional<ModelId> base = model ? fleet.book.fleet().models[model->value()].base : std::nullopt;
  if (!base) return;
  const std::string root = fleet.book.RootOf(*model);
  absl::StrAppend(json, ",\"root\":", JsonQuote(root.empty() ? std::string(name) : root),
                  ",\"parent\":", JsonQuote(fleet.book.fleet().models[base->value()].name));
}

// Unknown while an engine of the model is not recognised.
void AddCapabilities(const FleetView& fleet, ModelId model, std::string* json) {
  const ModelAccess* access = fleet.AccessOf(model);
  if (access == nullptr || !access->all_known || access->endpoints == EndpointSet{}) return;
  absl::StrAppend(json, ",\"capabilities\":[");
  const char* comma = "";
  for (int i = 0; i < kEndpointCount; ++i) {
    const auto endpoint = static_cast<Endpoint>(i);
    if (IsRoute(endpoint) || !access->endpoints.Has(endpoint)) continue;
    absl::StrAppend(json, comma, JsonQuote(TraitsOf(endpoint).label));
    comma = ",";
  }
  absl::StrAppend(json, "]");
}

std::string OneJson(const FleetView& fleet, const States& states, absl::string_view name, int64_t created) {
  std::string json = absl::StrCat("{\"id\":", JsonQuote(name), ",\"object\":\"model\",\"created\":", created,
                                  ",\"owned_by\":\"penstock\"");
  if (const auto model = fleet.book.ModelByName(name)) {
    if (fleet.book.MaxContext(*model) > Tokens(0)) {
      absl::StrAppend(&json, ",\"max_model_len\":", fleet.book.MaxContext(*model).value());
    }
    absl::StrAppend(&json, ",\"state\":", JsonQuote(LabelOf(BestOf(fleet, states, *model))));
    AddCapabilities(fleet, *model, &json);
  }
  AddParent(fleet, name, &json);
  return json + "}";
}

}  // namespace

absl::string_view LabelOf(ModelState state) {
  constexpr absl::string_view kLabels[] = {"up", "waking", "asleep", "down"};
  return kLabels[static_cast<size_t>(state)];
}

ModelState StateOf(const FleetView& fleet, const CoreView& view, ModelId model) {
  return BestOf(fleet, StatesOf(view), model);
}

std::string ModelJson(const FleetView& fleet, const CoreView& view, absl::string_view name, int64_t created) {
  return OneJson(fleet, StatesOf(view), name, created);
}

std::string ModelsJson(const FleetView& fleet, const CoreView& view, int64_t created) {
  const States states = StatesOf(view);
  std::string json = "{\"object\":\"list\",\"data\":[";
  const char* comma = "";
  for (const std::string& name : fleet.book.ModelNames()) {
    absl::StrAppend(&json, comma, OneJson(fleet, states, name, created));
    comma = ",";
  }
  return json + "]}";
}

}  // namespace penstock
