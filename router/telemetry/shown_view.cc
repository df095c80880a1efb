#include "router/telemetry/shown_view.h"

#include <utility>

#include "absl/container/flat_hash_map.h"

namespace penstock {
namespace {

bool IsGone(const std::vector<bool>& gone, size_t position) { return position < gone.size() && gone[position]; }

void ShowPools(const CoreView& view, const GoneParts& gone, CoreView& shown) {
  absl::flat_hash_set<std::string> names;
  for (size_t i = 0; i < view.pools.size(); ++i) {
    if (IsGone(gone.pools, i) || view.pools[i].name.empty()) continue;
    shown.pools.push_back(view.pools[i]);
    names.insert(view.pools[i].name);
  }
  for (size_t i = 0; i < view.pools.size(); ++i) {
    const PoolView& pool = view.pools[i];
    const bool empty = pool.held + pool.promised + pool.draining == Amount(0);
    if (!IsGone(gone.pools, i) || empty || !names.insert(pool.name).second) continue;
    shown.pools.push_back(pool);
  }
}

void ShowReplicas(const CoreView& view, const GoneParts& gone, CoreView& shown) {
  absl::flat_hash_map<std::pair<std::string, std::string>, size_t> places;
  const auto show = [&](const ReplicaView& replica) {
    const auto [place, fresh] = places.try_emplace({replica.name, replica.model}, shown.replicas.size());
    if (fresh) {
      shown.replicas.push_back(replica);
      return;
    }
    ReplicaView& other = shown.replicas[place->second];
    other.running += replica.running;
    other.prefilling += replica.prefilling;
    other.backlog += replica.backlog;
  };
  for (size_t i = 0; i < view.replicas.size(); ++i) {
    // Without a name: the core does not know yet who has the place.
    if (!IsGone(gone.replicas, i) && !view.replicas[i].name.empty()) show(view.replicas[i]);
  }
  for (size_t i = 0; i < view.replicas.size(); ++i) {
    if (IsGone(gone.replicas, i) && view.replicas[i].running > 0) show(view.replicas[i]);
  }
}

}  // namespace

GoneParts GonePartsOf(const Fleet& fleet) {
  GoneParts gone;
  gone.pools.assign(fleet.pools.size(), true);
  for (const ModelSpec& model : fleet.models) gone.models.insert(model.name);
  for (const ReplicaSpec& replica : fleet.replicas) {
    gone.replicas.push_back(replica.removed);
    if (replica.removed) continue;
    for (const PoolShare& share : replica.pools) gone.pools[share.pool.value()] = false;
    for (ModelId model : replica.models) gone.models.erase(fleet.models[model.value()].name);
  }
  return gone;
}

CoreView ShownOf(const CoreView& view, const GoneParts& gone) {
  CoreView shown = view;
  shown.pools.clear();
  shown.replicas.clear();
  shown.lanes.clear();
  ShowPools(view, gone, shown);
  ShowReplicas(view, gone, shown);
  for (const LaneView& lane : view.lanes) {
    if (lane.waiting > 0 || !gone.models.contains(lane.model)) shown.lanes.push_back(lane);
  }
  return shown;
}

}  // namespace penstock
