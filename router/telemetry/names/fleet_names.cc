#include "router/telemetry/names/fleet_names.h"

namespace penstock {
namespace {

template <class Spec>
std::vector<absl::string_view> NamesIn(const std::vector<Spec>& specs) {
  std::vector<absl::string_view> names;
  names.reserve(specs.size());
  for (const Spec& spec : specs) names.push_back(spec.name);
  return names;
}

}  // namespace

DroppedNames FleetNames::SetFleet(const Fleet& fleet) {
  DroppedNames dropped;
  // Tombstones have their names while anything refers to them; vacant places have none.
  dropped.models = models_.Set(NamesIn(fleet.models), max_names_);
  dropped.classes = classes_.Set(NamesIn(fleet.classes), max_names_);
  dropped.replicas = replicas_.Set(NamesIn(fleet.replicas), max_names_);
  return dropped;
}

bool FleetNames::IsOf(const Fleet& fleet) const {
  return models_.Is(NamesIn(fleet.models), max_names_) && classes_.Is(NamesIn(fleet.classes), max_names_) &&
         replicas_.Is(NamesIn(fleet.replicas), max_names_);
}

DroppedNames FleetNames::SetTenants(const std::vector<std::string>& tenants) {
  has_tenants_ = !tenants.empty();
  DroppedNames dropped;
  dropped.tenants = tenants_.Set({tenants.begin(), tenants.end()}, max_names_);
  return dropped;
}

}  // namespace penstock
