#include "router/live/fleet/fleet_publisher.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <utility>

#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace {

void NameReplicas(const FleetBook& book, Telemetry& telemetry) {
  const Fleet& fleet = book.fleet();
  telemetry.SetFleet(fleet);
  for (uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    if (book.removed(ReplicaId(i)) || !book.replica_config(ReplicaId(i)).sleep) continue;
    telemetry.engines().StartSleepsAtZero(fleet.replicas[i].name);
  }
}

}  // namespace

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

void FleetPublisher::Publish(std::vector<Event> then, std::function<void()> published) {
  next_.then.insert(next_.then.end(), then.begin(), then.end());
  if (published) next_.published.push_back(std::move(published));
  if (std::exchange(state_, State::kWanted) == State::kNone) {
    // Later: the changes of this turn go with it.
    boost::asio::post(control_.io(), [this] { PublishNext(); });
  }
}

void FleetPublisher::PublishNext() {
  state_ = State::kUnderWay;
  Send(view_(), std::exchange(next_, Changes()));
}

// With the view, a loop may send requests of its new classes.
void FleetPublisher::TellClasses(const FleetView& view) {
  const std::vector<ClassSpec>& classes = view.book.fleet().classes;
  if (told_ == nullptr || classes == told_->book.fleet().classes) return;
  Fleet grown = told_->book.fleet();
  grown.classes = classes;
  control_.edge().core->Submit(FleetChanged{std::move(grown)});
}

void FleetPublisher::Send(const std::shared_ptr<const FleetView>& view, Changes changes) {
  TellClasses(*view);
  NameReplicas(view->book, *control_.edge().telemetry);
  auto left = std::make_shared<std::atomic<size_t>>(loops_.size());
  const auto arrived = [this, view, left, changes = std::move(changes)] {
    if (left->fetch_sub(1) != 1) return;
    boost::asio::post(control_.io(), [this, view, changes] { OnArrived(view, changes); });
  };
  for (EventLoop* loop : loops_) loop->PostFleet(view, arrived);
}

void FleetPublisher::OnArrived(const std::shared_ptr<const FleetView>& view, const Changes& changes) {
  control_.edge().core->Submit(FleetChanged{view->book.fleet()});
  told_ = view;
  for (const Event& event : changes.then) control_.edge().core->Submit(event);
  for (const auto& each : changes.published) each();
  if (state_ == State::kWanted) return PublishNext();
  state_ = State::kNone;
}

void FleetPublisher::TellLost(const std::vector<ReplicaId>& replicas, EngineLoss loss) {
  for (EventLoop* loop : loops_) {
    for (const ReplicaId replica : replicas) loop->PostLost(replica, loss);
  }
}

}  // namespace penstock
