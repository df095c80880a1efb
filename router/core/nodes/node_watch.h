// Takes the reports of exporters about nodes, and compares each replica with its peers.
//
// A report says how many times as long steps take on the node. Only the part over the least of the peers counts: where
// all nodes are as slow, or all exporters lie alike, nobody is derated. The same holds for closed nodes: a request goes
// there where no open replica can take it (Placement::HasOpenServer). So no exporter stops the service. A replica
// without a peer keeps its pace. Owned by PenstockCore. A report or a change of health costs O(replicas), but nothing
// while no replica has a report that differs from the default.
#ifndef PENSTOCK_ROUTER_CORE_NODES_NODE_WATCH_H_
#define PENSTOCK_ROUTER_CORE_NODES_NODE_WATCH_H_

#include "router/core/books/fleet_state.h"
#include "router/core/contract/event.h"
#include "router/core/contract/view.h"
#include "router/core/queue/work_list.h"

namespace penstock {

class NodeWatch {
 public:
  // The largest derate that a report has.
  static constexpr double kMost = 20;

  // Both outlive this object.
  NodeWatch(FleetState& fleet, WorkList& work) : fleet_(fleet), work_(work) {}

  void Told(const NodeReport& report);
  // The fleet is new. Reports of removed replicas are forgotten.
  void Configure();
  // The health of a replica changed: its peers may compare otherwise.
  void Revise();
  // Adds the effects on each replica, and the residual vector of each node.
  void Show(CoreView& view) const;

 private:
  FleetState& fleet_;
  WorkList& work_;
  bool any_ = false;  // Some report is no default.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_NODES_NODE_WATCH_H_
