// The parts of a node that are left: 1 is all of it, 0 is nothing. A value.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_NODE_RESIDUAL_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_NODE_RESIDUAL_H_

namespace penstock {

struct NodeResidual {
  double memory = 1;   // KV memory that no running request is expected to take.
  double compute = 1;  // Of the strictest TPOT goal, the part that its streams' steps leave.
  double storage = 1;  // Bandwidth, by the exporters and by the requests on their way.
  double io_cpu = 1;   // CPU time for input and output, by the exporters.
  bool operator==(const NodeResidual&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_NODE_RESIDUAL_H_
