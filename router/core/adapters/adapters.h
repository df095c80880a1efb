// The adapters that engines load by order: decides which replica loads which of them, and follows the orders.
//
// A review looks at the adapters with waiting requests. One that no awake replica has is loaded where the fewest
// requests run, unless a replica with it wakes sooner. A replica that is expected to load in less than half the time
// goes first. That time is learned, and grows with the pressure on the storage of its node. One that some replica has
// is loaded on a further one that runs less. Its oldest request has then waited for longer than two loads take. A
// replica that has as many adapters as it may have gives up the one that was used longest ago and that nobody runs.
// Where somebody runs each of them, the newcomer waits for kBusyPatience; then one that has been there for kLeastStay
// leaves. Its running requests go on. Invariant: one order per replica is under way, and no replica has or loads more
// adapters than it may. Owned by PenstockCore. Costs nothing while no replica loads adapters. A review is O(adapters x
// servers).
#ifndef PENSTOCK_ROUTER_CORE_ADAPTERS_ADAPTERS_H_
#define PENSTOCK_ROUTER_CORE_ADAPTERS_ADAPTERS_H_

#include <vector>

#include "router/core/adapters/adapter_state.h"
#include "router/core/books/servers.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/core/queue/waiting_room.h"
#include "router/core/queue/work_list.h"

namespace penstock {

class Adapters {
 public:
  // Loads; a request waits so long before a further replica loads its adapter, or one in use is unloaded for it.
  static constexpr double kPatience = 2;
  // Seconds; the least of the latter wait. With 1, a GPU that loads in 100 ms had 2 % late (TTFT goal 3 s).
  static constexpr double kBusyPatience = 0.3;
  // Loads; an adapter in use, or with waiting requests, stays so long. At least kLeastStaySeconds. With 10 loads
  // (bench/rooms/waits.sh), 8 adapters in 4 places of one GPU had 5 % late, with 4 under 1 %.
  static constexpr double kLeastStay = 4;
  static constexpr double kLeastStaySeconds = 1;

  Adapters(FleetState& fleet, const Servers& servers, const WaitingRoom& waiting, WorkList& work)
      : fleet_(fleet), servers_(servers), waiting_(waiting), work_(work) {}

  // The fleet has a new description.
  void Configure(Instant now);
  bool any() const { return !hosts_.empty(); }

  // A request arrived and waits or runs; null: it was refused.
  void Arrived(const RequestState* request);
  // The request leaves its lane or its replica; null: nobody knows it.
  void Leaves(const RequestState* request, Instant now);
  void Told(const AdapterResidency& event, Instant now);
  // Something else changed that a review looks at.
  void Touch() { touched_ = true; }

  // Looks at all of it where an event or a timer asks for that.
  void Review(Instant now, std::vector<Action>& actions);
  // The adapters with waiting requests that no replica which is up has or can load.
  const std::vector<ModelId>& hopeless() const { return hopeless_; }
  // When a review is due though nothing else happens; Never: not before an event.
  Instant NextDue() const { return any() ? next_review_ : Instant::Never(); }

 private:
  using Place = AdapterState::Place;

  // The servers of an adapter that are up.
  struct Coverage {
    bool comes = false;      // One of them loads it, or wakes with it before another one could load it.
    bool able = false;       // One of them may load it, or has it and sleeps or leaves.
    bool up = false;         // There is one.
    int64_t least_busy = 0;  // The fewest sequences of those where it is there.
    bool there = false;      // One of them has it and takes requests now.
  };
  // A replica that may load an adapter, and the adapter that it gives up for that.
  struct Offer {
    AdapterHost* host = nullptr;
    AdapterState* victim = nullptr;
  };

  // `load`: the seconds of a load.
  Coverage CoverageOf(ModelId model, double load, Instant now);
  void Consider(ModelId model, Instant now, std::vector<Action>& actions);
  // True: the host may begin to load now; `victim` is what it gives up, or null.
  bool MayLoad(AdapterHost& host, bool pressing, Instant now, AdapterState** victim);
  AdapterState* VictimOf(AdapterHost& host, bool pressing, Instant now);
  // The expected time of a load, on the node's storage as it is now.
  double LoadSeconds(const AdapterHost& host) const;
  Offer BestOffer(ModelId model, const Coverage& coverage, bool pressing, Instant now);
  void Order(const Offer& offer, ModelId model, Instant now, std::vector<Action>& actions);
  void SettleOrders(Instant now);
  // The time since the oldest waiting request of the model began to wait.
  Duration LongestWait(ModelId model, Instant now) const;
  // The rooms that read it follow.
  void Changed(const AdapterHost& host);
  AdapterHost* HostOf(size_t replica) { return replica < by_replica_.size() ? by_replica_[replica] : nullptr; }
  ReplicaState& StateOf(const AdapterHost& host) { return fleet_.replicas()[host.replica]; }

  FleetState& fleet_;
  const Servers& servers_;
  const WaitingRoom& waiting_;
  WorkList& work_;
  std::vector<AdapterHost> hosts_;
  std::vector<AdapterHost*> by_replica_;  // Null: it loads no adapters.
  std::vector<ModelId> models_;           // Each adapter that some host may load.
  std::vector<ModelId> hopeless_;
  Instant next_review_ = Instant::Never();
  bool touched_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADAPTERS_ADAPTERS_H_
