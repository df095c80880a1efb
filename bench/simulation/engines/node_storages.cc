#include "bench/simulation/engines/node_storages.h"

#include <algorithm>

#include "router/core/storage/storage_fit.h"

namespace penstock::bench {
namespace {

constexpr double kSecondsOfWhole = 2;  // A need of all storage takes so long.
constexpr double kDone = 1e-9;

}  // namespace

NodeStorages::NodeStorages(const SimulatedFleetSpec& spec, EventQueue& events)
    : spec_(spec), events_(events), nodes_(spec.storages.size()), node_of_(spec.replicas.size(), -1) {
  for (size_t i = 0; i < spec.storages.size(); ++i) {
    for (const size_t replica : spec.storages[i].replicas) node_of_[replica] = static_cast<int>(i);
  }
}

void NodeStorages::Start() {
  for (size_t i = 0; i < nodes_.size(); ++i) events_.Schedule(events_.now() + kEvery, Occurrence::kNodePage, i);
}

double NodeStorages::RateOf(size_t node) const {
  const SimulatedStorage& storage = spec_.storages[node];
  const bool shared = events_.elapsed() >= storage.from && events_.elapsed() < storage.to;
  return shared ? 1 - storage.pressure : 1;
}

void NodeStorages::CatchUp(size_t node) {
  Node& of = nodes_[node];
  const double elapsed = (events_.now() - of.since).seconds();
  of.since = events_.now();
  if (of.reads.empty()) return;
  of.busy += elapsed;
  for (Read& read : of.reads) read.left -= elapsed * RateOf(node) / static_cast<double>(of.reads.size());
}

void NodeStorages::ScheduleEnd(size_t node) {
  Node& of = nodes_[node];
  ++of.serial;
  if (of.reads.empty()) return;
  const auto next =
      std::min_element(of.reads.begin(), of.reads.end(), [](const Read& a, const Read& b) { return a.left < b.left; });
  const double wait = std::max(0.0, next->left) * static_cast<double>(of.reads.size()) / RateOf(node);
  events_.Schedule(events_.now() + Duration::Seconds(wait), Occurrence::kReadEnds, node, of.serial);
}

bool NodeStorages::Delays(size_t replica, StorageNeed need, uint64_t request, uint64_t tries) {
  const double seconds = kSecondsOfWhole * StorageOf(need) / 1000;
  if (node_of_[replica] < 0 || seconds <= 0) return false;
  const auto read = read_by_.find(request);
  if (read != read_by_.end() && read->second == tries) return false;
  const auto node = static_cast<size_t>(node_of_[replica]);
  CatchUp(node);
  nodes_[node].reads.push_back({request, tries, seconds});
  ScheduleEnd(node);
  return true;
}

void NodeStorages::EndReads(size_t node, uint64_t serial) {
  Node& of = nodes_[node];
  if (serial != of.serial) return;
  CatchUp(node);
  for (const Read& read : of.reads) {
    if (read.left > kDone) continue;
    read_by_[read.request] = read.tries;
    events_.Schedule(events_.now(), Occurrence::kSubmit, read.request, read.tries);
  }
  std::erase_if(of.reads, [](const Read& read) { return read.left <= kDone; });
  ScheduleEnd(node);
}

std::vector<NodeReport> NodeStorages::Page(size_t node, std::optional<Duration> pause) {
  CatchUp(node);
  ScheduleEnd(node);
  const double others = 1 - RateOf(node);
  const double busy = std::min(1.0, nodes_[node].busy / kEvery.seconds());
  nodes_[node].busy = 0;
  std::vector<NodeReport> reports;
  for (const size_t replica : spec_.storages[node].replicas) {
    NodeReport report;
    report.replica = ReplicaId(static_cast<uint32_t>(replica));
    report.storage_pressure = others + (1 - others) * busy;
    reports.push_back(report);
  }
  if (pause) events_.Schedule(events_.now() + *pause, Occurrence::kNodePage, node);
  return reports;
}

}  // namespace penstock::bench
