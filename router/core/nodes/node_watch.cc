#include "router/core/nodes/node_watch.h"

#include <algorithm>
#include <map>
#include <optional>

#include "router/core/nodes/residuals.h"

namespace penstock {
namespace {

std::optional<ModelId> KindOf(const ReplicaState& replica) {
  if (replica.spec().removed || replica.spec().models.empty()) return std::nullopt;
  return replica.spec().models.front();
}

// A report that is no number counts as the best that it could say.
double Within(double value, double least, double most) { return value >= least ? std::min(value, most) : least; }

}  // namespace

void NodeWatch::Told(const NodeReport& report) {
  if (!fleet_.Knows(report.replica)) return;
  NodeFacts& facts = fleet_.replica(report.replica).facts.node;
  const NodeFacts before = facts;
  facts.reported = Within(report.derate, 1, kMost);
  facts.storage_pressure = Within(report.storage_pressure, 0, 1);
  facts.closed = report.closed;
  facts.cpu_pressure = Within(report.cpu_pressure, 0, 1);
  if (facts.storage_pressure > 0) fleet_.storage.SeePressure();
  any_ = true;
  Revise();
  if (facts != before) work_.Open(fleet_.replica(report.replica));
}

void NodeWatch::Configure() {
  for (ReplicaState& replica : fleet_.replicas()) {
    if (replica.spec().removed) replica.facts.node = NodeFacts{};
    // A replica with another step model has no derate yet.
    if (replica.spec().removed || replica.facts.node.derate > 1) replica.Derate();
  }
  Revise();
}

void NodeWatch::Revise() {
  if (!any_) return;
  std::map<ModelId, double> least;
  for (const ReplicaState& replica : fleet_.replicas()) {
    const std::optional<ModelId> kind = KindOf(replica);
    if (!kind || !replica.Placeable()) continue;
    const auto [entry, first] = least.try_emplace(*kind, replica.facts.node.reported);
    if (!first) entry->second = std::min(entry->second, replica.facts.node.reported);
  }
  any_ = false;
  for (ReplicaState& replica : fleet_.replicas()) {
    NodeFacts& facts = replica.facts.node;
    any_ |= facts.reported > 1 || facts.storage_pressure > 0 || facts.closed || facts.cpu_pressure > 0;
    const std::optional<ModelId> kind = KindOf(replica);
    const auto entry = kind ? least.find(*kind) : least.end();
    const double derate = entry == least.end() ? 1 : std::max(1.0, facts.reported / entry->second);
    if (derate == facts.derate) continue;
    facts.derate = derate;
    replica.Derate();
    work_.Open(replica);
  }
}

void NodeWatch::Show(CoreView& view) const {
  view.nodes = ResidualsOf(fleet_);
  for (size_t i = 0; i < fleet_.replicas().size(); ++i) {
    const NodeFacts& facts = fleet_.replicas()[i].facts.node;
    view.replicas[i].node = {facts.derate, facts.storage_pressure, facts.closed, facts.cpu_pressure};
  }
}

}  // namespace penstock
