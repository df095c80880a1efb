// The storage of nodes: who needs it, and the requests that are about to use it.
//
// The need of a request is what its client declared, else that of its model: by the configuration, or learned. A
// request takes its part of its node's storage from its dispatch to its first token. So requests that follow at once
// see it, although exporters lag. Invariant: the work of a replica is the sum of the needs of its requests before their
// first token. Owned by FleetState, changed by RunningRequests and NodeWatch. A call costs O(replicas of the node).
#ifndef PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_BOOKS_H_
#define PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_BOOKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"
#include "router/core/storage/storage_fit.h"
#include "router/core/storage/storage_habit.h"

namespace penstock {

class StorageBooks {
 public:
  // A larger need is about for so long after its last request.
  static constexpr Duration kRemembered = Duration::Seconds(60);

  struct Node {
    std::string name;              // The part of its GPUs' names before the last slash.
    std::vector<size_t> replicas;  // Positions of those whose first GPU it has.
  };

  void Configure(const Fleet& fleet);

  const std::vector<Node>& nodes() const { return nodes_; }
  // Never kUnsaid.
  StorageNeed NeedOf(const RequestArrived& request) const;
  // The request waits: its need is about.
  void Arrived(const RequestArrived& request, Instant now);
  StorageFit FitOf(const RequestArrived& request, Instant now) const;
  // The part of the storage of the replica's node that requests are about to use; may exceed 1.
  double UnderWay(size_t replica) const;
  // The requests that use it.
  int64_t Requests(const Node& node) const;

  // A request of this need was dispatched to the replica, and got its first token or left.
  void Begin(size_t replica, StorageNeed need);
  void End(size_t replica, StorageNeed need);
  // Thousandths.
  int64_t WorkOf(size_t replica) const { return work_[replica].thousandths; }

  // Some node was under pressure: first tokens teach from now on.
  void SeePressure() { learns_ = true; }
  bool learns() const { return learns_; }
  // The first token of a request that declared nothing.
  void Learn(ModelId model, double late, double pressure);

 private:
  struct Model {
    bool configured = false;
    StorageHabit habit;
  };
  struct Work {
    int64_t thousandths = 0;
    int64_t requests = 0;
  };

  std::vector<Node> nodes_;
  std::vector<std::optional<size_t>> node_of_;  // One per replica.
  std::vector<Work> work_;                      // One per replica.
  std::vector<Model> models_;
  std::optional<Instant> heavy_at_;  // The newest.
  bool learns_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_BOOKS_H_
