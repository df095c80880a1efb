// Brings a new fleet to every loop first, and to the core when all loops have it.
//
// So no loop is sent to a replica that it does not know. New classes alone go to the core first: requests name them.
// One publication is under way at a time. The changes that come meanwhile go with the next one: a view is as long as
// the fleet. Belongs to the control loop, which outlives it.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_FLEET_PUBLISHER_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_FLEET_PUBLISHER_H_

#include <cstdint>
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
  using ViewMaker = std::function<std::shared_ptr<const FleetView>()>;

  FleetPublisher(EventLoop& control, std::vector<EventLoop*> loops, ViewMaker view)
      : control_(control), loops_(std::move(loops)), view_(std::move(view)) {}

  // Publishes the fleet as it is soon. Then submits `then` to the core and calls `published` on the control loop, where
  // it is given.
  void Publish(std::vector<Event> then, std::function<void()> published = nullptr);
  // Requests at the replica that hear nothing of it are tried elsewhere.
  void TellLost(const std::vector<ReplicaId>& replicas, EngineLoss loss);

 private:
  enum class State : uint8_t { kNone, kUnderWay, kWanted };
  // The changes of the next publication.
  struct Changes {
    std::vector<Event> then;
    std::vector<std::function<void()>> published;
  };

  void PublishNext();
  void TellClasses(const FleetView& view);
  void Send(const std::shared_ptr<const FleetView>& view, Changes changes);
  void OnArrived(const std::shared_ptr<const FleetView>& view, const Changes& changes);

  EventLoop& control_;
  const std::vector<EventLoop*> loops_;
  const ViewMaker view_;
  std::shared_ptr<const FleetView> told_;  // The core has its fleet; null at first.
  State state_ = State::kNone;
  Changes next_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_FLEET_PUBLISHER_H_
