// Brings a new fleet to every loop first, and to the core when all loops have it.
//
// So no loop is sent to a replica that it does not know. Belongs to the control loop, which outlives it.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_FLEET_PUBLISHER_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_FLEET_PUBLISHER_H_

#include <functional>
#include <memory>
#include <vector>

#include "router/live/event_loop.h"
#include "router/live/fleet_view.h"

namespace penstock {

// The fleet of `book` with the ways to its engines, by replica id.
std::shared_ptr<const FleetView> MakeFleetView(const FleetBook& book, std::vector<EngineAccess> engines);

class FleetPublisher {
 public:
  FleetPublisher(EventLoop& control, std::vector<EventLoop*> loops) : control_(control), loops_(std::move(loops)) {}

  // Then submits `then` to the core and calls `published` on the control loop.
  void Publish(std::shared_ptr<const FleetView> view, std::vector<Event> then, std::function<void()> published);
  // Requests at the replica that hear nothing of it are tried elsewhere.
  void TellLost(ReplicaId replica, EngineLoss loss);

 private:
  EventLoop& control_;
  const std::vector<EventLoop*> loops_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_FLEET_PUBLISHER_H_
