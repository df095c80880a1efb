#include "router/core/nodes/residuals.h"

#include <algorithm>

namespace penstock {
namespace {

// The least of the replica's pools.
double MemoryOf(const ReplicaState& replica, const FleetState& fleet) {
  double left = 1;
  for (const PoolShare& share : replica.spec().pools) {
    const double capacity = std::max(1.0, fleet.pool(share.pool).spec().capacity.AsDouble());
    const Amount free = fleet.ledger().Available(share.pool) - fleet.ledger().balance(share.pool).promised;
    left = std::min(left, std::max(0.0, free.AsDouble() / capacity));
  }
  return left;
}

double ComputeOf(const ReplicaState& replica, const FleetState& fleet, double tpot) {
  const double rate = replica.busy() ? replica.Pace(fleet.BusyNeighbours(replica)).now : 0;
  return rate > 0 && tpot > 0 ? std::clamp(1 - 1 / (rate * tpot), 0.0, 1.0) : 1;
}

double StrictestTpot(const Fleet& fleet) {
  double least = 0;
  for (const ClassSpec& each : fleet.classes) {
    if (least == 0 || each.tpot.seconds() < least) least = each.tpot.seconds();
  }
  return least;
}

}  // namespace

std::vector<NodeView> ResidualsOf(const FleetState& fleet) {
  std::vector<NodeView> views;
  const double tpot = StrictestTpot(fleet.spec());
  for (const StorageBooks::Node& node : fleet.storage.nodes()) {
    NodeView& view = views.emplace_back();
    view.name = node.name;
    view.storage_requests = fleet.storage.Requests(node);
    double memory = 0, compute = 0;
    for (const size_t index : node.replicas) {
      const ReplicaState& replica = fleet.replicas()[index];
      view.left.storage = std::min(view.left.storage, 1 - replica.facts.node.storage_pressure);
      view.left.io_cpu = std::min(view.left.io_cpu, 1 - replica.facts.node.cpu_pressure);
      if (!replica.Placeable()) continue;
      ++view.replicas;
      memory += MemoryOf(replica, fleet);
      compute += ComputeOf(replica, fleet, tpot);
    }
    const double under_way = fleet.storage.UnderWay(node.replicas.front());
    view.left.storage = std::max(0.0, view.left.storage - under_way);
    const double count = static_cast<double>(view.replicas);
    view.left.memory = count > 0 ? memory / count : 0;
    view.left.compute = count > 0 ? compute / count : 0;
  }
  return views;
}

}  // namespace penstock
