#include "router/http/pages/model_list.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "router/http/pages/ollama_text.h"
#include "router/openai/error/api_error.h"

namespace penstock {
namespace {

ModelState StateOfReplica(const ReplicaView& replica) {
  const bool reached = replica.health == Health::kUp || replica.health == Health::kProbing;
  if (replica.residency == Residency::kWaking) return ModelState::kWaking;
  if (replica.residency != Residency::kAwake)
    return replica.health == Health::kDown ? ModelState::kDown : ModelState::kAsleep;
  return reached ? ModelState::kUp : ModelState::kDown;
}

std::vector<ModelState> StatesOf(const Fleet& fleet, const CoreView& core) {
  absl::flat_hash_map<absl::string_view, ModelState> replicas;
  for (const ReplicaView& replica : core.replicas) replicas[replica.name] = StateOfReplica(replica);
  std::vector<ModelState> states(fleet.models.size(), ModelState::kDown);
  for (const ReplicaSpec& replica : fleet.replicas) {
    const auto found = replicas.find(replica.name);
    const bool answers = !replica.removed && replica.role != EngineRole::kPrefill;
    if (!answers || found == replicas.end()) continue;
    for (const ModelId model : replica.models) {
      states[model.value()] = std::min(states[model.value()], found->second);
    }
  }
  return states;
}

// The base and the path of an adapter.
void AddParent(const FleetBook& book, absl::string_view name, ModelId model, std::string* json) {
  const std::optional<ModelId> base = book.fleet().models[model.value()].base;
  if (!base) return;
  const std::string root = book.WordsOf(model).root;
  absl::StrAppend(json, ",\"root\":", JsonQuote(root.empty() ? std::string(name) : root),
                  ",\"parent\":", JsonQuote(book.fleet().models[base->value()].name));
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

void AddItem(const std::string& item, std::string* list) {
  absl::StrAppend(list, list->back() == '[' ? "" : ",", item);
}

}  // namespace

absl::string_view LabelOf(ModelState state) {
  constexpr absl::string_view kLabels[] = {"up", "waking", "asleep", "down"};
  return kLabels[static_cast<size_t>(state)];
}

ModelList::ModelList(std::shared_ptr<const FleetView> fleet, const CoreView& core, absl::Time since)
    : fleet_(std::move(fleet)), since_(since), states_(StatesOf(fleet_->book.fleet(), core)) {
  WriteLists();
}

void ModelList::WriteLists() {
  const FleetBook& book = fleet_->book;
  const std::string since = OllamaTime(since_);
  json_ = "{\"object\":\"list\",\"data\":[";
  tags_ = running_ = "{\"models\":[";
  for (const std::string& name : book.ModelNames()) {
    const std::optional<ModelId> model = book.ModelByName(name);
    if (!model) continue;
    AddItem(OneJson(name, *model), &json_);
    AddItem(OllamaTag(name, since), &tags_);
    if (StateOf(*model) == ModelState::kUp) AddItem(OllamaRunning(name, book.MaxContext(*model)), &running_);
  }
  for (std::string* list : {&json_, &tags_, &running_}) list->append("]}");
}

ModelState ModelList::StateOf(ModelId model) const { return states_[model.value()]; }

std::string ModelList::OneJson(absl::string_view name) const {
  const std::optional<ModelId> model = fleet_->book.ModelByName(name);
  return model ? OneJson(name, *model) : "";
}

std::string ModelList::OneJson(absl::string_view name, ModelId model) const {
  const std::string owner = fleet_->book.WordsOf(model).owner;
  std::string json =
      absl::StrCat("{\"id\":", JsonQuote(name), ",\"object\":\"model\",\"created\":", absl::ToUnixSeconds(since_),
                   ",\"owned_by\":", JsonQuote(owner.empty() ? "penstock" : owner));
  const Tokens context = fleet_->book.MaxContext(model);
  if (context > Tokens(0)) absl::StrAppend(&json, ",\"max_model_len\":", context.value());
  absl::StrAppend(&json, ",\"state\":", JsonQuote(LabelOf(StateOf(model))));
  AddCapabilities(*fleet_, model, &json);
  AddParent(fleet_->book, name, model, &json);
  return json + "}";
}

}  // namespace penstock
