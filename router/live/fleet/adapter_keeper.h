// Carries out the orders of the core to load adapters, and tells it which adapters each engine has.
//
// A load is a coroutine of its own, a guest of the control loop. The engine's list of models decides its end, not the
// answer: an adapter that is listed is loaded, whoever did it. One load of a replica is under way at a time, because
// the core orders one. Belongs to the control loop.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_ADAPTER_KEEPER_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_ADAPTER_KEEPER_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/engines/verbs/engine_verbs.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/fleet/fleet_book.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/watched_replica.h"

namespace penstock {

class AdapterKeeper {
 public:
  // The way of events to the core, behind the fleet that they need.
  using Publish = std::function<void(std::vector<Event>)>;

  AdapterKeeper(EventLoop& control, FleetBook& book, Publish publish)
      : control_(control), book_(book), publish_(std::move(publish)) {}

  void Order(const std::shared_ptr<WatchedReplica>& watched, const LoadAdapter& order);
  // Ends the load of the replica soon, if one is under way.
  void Stop(ReplicaId replica);
  // Warns of the engine's models and of the configuration's adapters that the router leaves out.
  void LogLeftOut(const WatchedReplica& watched) const;
  // The adapters on demand of the replica, as its engine listed them last.
  std::vector<Event> FactsOf(ReplicaId replica) const;

 private:
  boost::asio::awaitable<void> Load(std::shared_ptr<WatchedReplica> watched, LoadAdapter order);
  // The requests themselves.
  boost::asio::awaitable<VerbEnd> Ask(WatchedReplica& watched, LoadAdapter order);
  // Reads the engine's list of models again. False: it could not be read.
  boost::asio::awaitable<bool> ReadModels(WatchedReplica& watched);
  bool Lists(ReplicaId replica, const std::string& name) const;
  // Adapters of the configuration belong to its model, but it has ranks: a load would reach all of them.
  bool KeepsAdaptersOut(ReplicaId replica) const;
  void Tell(const WatchedReplica& watched, const LoadAdapter& order, const VerbEnd& end, bool loaded, Duration took);

  EventLoop& control_;
  FleetBook& book_;
  const Publish publish_;
  absl::flat_hash_map<ReplicaId, EngineVerbs*> under_way_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_ADAPTER_KEEPER_H_
