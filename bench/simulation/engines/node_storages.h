// The storage of simulated nodes: requests read it before their first step, and share it.
//
// The reads of a node share what others leave of its storage evenly. A read of a heavy need takes a second of the whole
// storage, that of some need 0.4 s. The exporter of the node reports every 5 s which part of that time the storage was
// busy. A replica whose node has no storage reads at once. Invariant: a request is delayed once per try. One owner; a
// call costs O(reads of the node).
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_NODE_STORAGES_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_NODE_STORAGES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "bench/simulation/engines/event_queue.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "router/core/contract/event.h"

namespace penstock::bench {

class NodeStorages {
 public:
  static constexpr Duration kEvery = Duration::Seconds(5);

  // Both outlive this object.
  NodeStorages(const SimulatedFleetSpec& spec, EventQueue& events);

  // Schedules the first report of each node.
  void Start();
  // A request reaches its engine. True: it has to read first, and kSubmit follows with the same numbers.
  bool Delays(size_t replica, StorageNeed need, uint64_t request, uint64_t tries);
  // A kReadEnds of the node; void where the serial number is outdated.
  void EndReads(size_t node, uint64_t serial);
  // A kNodePage of the node: the reports about its replicas. The next page follows after `pause`, if there is one.
  std::vector<NodeReport> Page(size_t node, std::optional<Duration> pause);

 private:
  struct Read {
    uint64_t request = 0;
    uint64_t tries = 0;
    double left = 0;  // Seconds of the whole storage.
  };
  struct Node {
    std::vector<Read> reads;
    Instant since;        // `left` is of then.
    double busy = 0;      // Seconds since the last page.
    uint64_t serial = 0;  // The newest kReadEnds has it.
  };

  // The part of the node's storage that is left for reads.
  double RateOf(size_t node) const;
  void CatchUp(size_t node);
  void ScheduleEnd(size_t node);

  const SimulatedFleetSpec& spec_;
  EventQueue& events_;
  std::vector<Node> nodes_;               // As in the spec.
  std::vector<int> node_of_;              // One per replica; -1: none.
  std::map<uint64_t, uint64_t> read_by_;  // Request to the try that has read.
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_NODE_STORAGES_H_
