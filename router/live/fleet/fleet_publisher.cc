#include "router/live/fleet/fleet_publisher.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <utility>

namespace penstock {

std::shared_ptr<const FleetView> MakeFleetView(const FleetBook& book, std::vector<EngineAccess> engines) {
  auto view = std::make_shared<FleetView>(book);
  const Fleet& fleet = book.fleet();
  view->engines = std::move(engines);
  view->models.resize(fleet.models.size());
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    EngineAccess& access = view->engines[i];
    const ReplicaSpec& spec = fleet.replicas[i];
    access.name = spec.name;
    for (const PoolShare& share : spec.pools) access.overflow_fatal |= fleet.pools[share.pool.value()].overflow_fatal;
    const uint32_t pool = spec.pools.empty() ? 0 : spec.pools.front().pool.value() + 1;
    view->progress_group.push_back(pool != 0 ? pool : static_cast<uint32_t>(fleet.pools.size() + 1 + i));
    if (!spec.removed) NoteModels(*view, spec.models, access.capabilities);
  }
  return view;
}

void FleetPublisher::Publish(std::shared_ptr<const FleetView> view, std::vector<Event> then,
                             std::function<void()> published) {
  control_.edge().telemetry->SetFleet(view->book.fleet());
  auto left = std::make_shared<std::atomic<size_t>>(loops_.size());
  const auto arrived = [this, view, left, then = std::move(then), published = std::move(published)] {
    if (left->fetch_sub(1) != 1) return;
    boost::asio::post(control_.io(), [this, view, then, published] {
      control_.edge().core->Submit(FleetChanged{view->book.fleet()});
      for (const Event& event : then) control_.edge().core->Submit(event);
      published();
    });
  };
  for (EventLoop* loop : loops_) loop->PostFleet(view, arrived);
}

void FleetPublisher::TellLost(ReplicaId replica, EngineLoss loss) {
  for (EventLoop* loop : loops_) loop->PostLost(replica, loss);
}

}  // namespace penstock
