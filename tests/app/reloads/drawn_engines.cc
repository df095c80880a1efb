#include "tests/app/reloads/drawn_engines.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <variant>

#include "router/core/contract/vacancy.h"

namespace penstock::testing {
namespace {

std::optional<ReplicaId> ReplicaOfOrder(const Action& action) {
  if (const auto* sleep = std::get_if<Sleep>(&action)) return sleep->replica;
  if (const auto* wake = std::get_if<Wake>(&action)) return wake->replica;
  if (const auto* load = std::get_if<LoadAdapter>(&action)) return load->replica;
  if (const auto* share = std::get_if<SetShare>(&action)) return share->replica;
  return std::nullopt;
}

Bytes Gigabytes(uint64_t count) { return Bytes(static_cast<int64_t>(count) * 1'000'000'000); }

std::string FaultOf(const Action& order, const Fleet& fleet, ReplicaId replica) {
  if (replica.value() >= fleet.replicas.size() || fleet.replicas[replica.value()].removed) {
    return "an order goes to a replica that is there";
  }
  const ReplicaSpec& spec = fleet.replicas[replica.value()];
  const bool residency = std::holds_alternative<Sleep>(order) || std::holds_alternative<Wake>(order);
  if (residency && !spec.sleep) return "only a replica that may sleep is told to";
  if (const auto* load = std::get_if<LoadAdapter>(&order)) {
    const std::vector<ModelId>& offered = spec.adapters.on_demand;
    if (std::find(offered.begin(), offered.end(), load->model) == offered.end()) return "an engine loads what it may";
  }
  return "";
}

}  // namespace

bool DrawnEngines::Take(const Action& action, Instant now, std::string& broken) {
  const std::optional<ReplicaId> replica = ReplicaOfOrder(action);
  if (!replica) return false;
  if (broken.empty()) broken = FaultOf(action, fleet_.told(), *replica);
  orders_.push_back({action, *replica, now});
  return true;
}

bool DrawnEngines::IsOrdered(uint32_t place) const {
  return std::any_of(orders_.begin(), orders_.end(),
                     [place](const Order& order) { return order.replica.value() == place; });
}

std::vector<Event> DrawnEngines::Act(Instant now) {
  switch (choices_.Below(4)) {
    case 0:
      return Report(now);
    case 1:
      return ChangeHealth();
    default:
      return EndAnyOrder(now);
  }
}

std::vector<Event> DrawnEngines::EndAnyOrder(Instant now) {
  if (orders_.empty()) return {};
  const size_t position = choices_.Below(orders_.size());
  // The watch of a replica that left tells nothing more.
  if (fleet_.told().replicas[orders_[position].replica.value()].removed && choices_.OneIn(2)) {
    orders_.erase(orders_.begin() + static_cast<ptrdiff_t>(position));
    return {};
  }
  return End(position, !choices_.OneIn(4), now);
}

std::vector<Event> DrawnEngines::End(size_t position, bool well, Instant now) {
  const Order order = orders_[position];
  orders_.erase(orders_.begin() + static_cast<ptrdiff_t>(position));
  const Duration took = std::max(Duration::Milliseconds(1), now - order.since);
  if (const auto* load = std::get_if<LoadAdapter>(&order.action)) {
    std::vector<Event> events;
    if (load->instead_of && well) events.push_back(TellAdapter({order.replica, *load->instead_of}));
    events.push_back(TellAdapter({order.replica, load->model, well, !well, took}));
    return events;
  }
  if (const auto* share = std::get_if<SetShare>(&order.action)) {
    return {ElasticReport{order.replica, now, well ? share->limit : Bytes(0), Bytes(0), Bytes(0)}};
  }
  const bool sleeps = std::holds_alternative<Sleep>(order.action);
  return {ReplicaResidency{order.replica, sleeps == well ? Residency::kAsleep : Residency::kAwake, !well, took}};
}

std::vector<Event> DrawnEngines::Report(Instant now) {
  const std::optional<ReplicaId> replica = fleet_.AnyLive();
  if (!replica) return {};
  switch (choices_.Below(6)) {
    case 0:
      return {ReplicaResidency{*replica, choices_.OneIn(2) ? Residency::kAsleep : Residency::kAwake}};
    case 1: {
      const std::vector<ModelId>& models = fleet_.told().replicas[replica->value()].models;
      if (models.empty()) return {};
      return {TellAdapter({*replica, models[choices_.Below(models.size())], choices_.OneIn(2)})};
    }
    case 2: {
      const Bytes limit = Gigabytes(1 + choices_.Below(20));
      return {ElasticReport{*replica, now, limit, Gigabytes(choices_.Below(20)), Bytes(0)}};
    }
    case 3:
      return {NodeReport{*replica, 1 + static_cast<double>(choices_.Below(3)), 0.1, choices_.OneIn(3)}};
    case 4: {
      CacheReport report{*replica, static_cast<CacheNews>(choices_.Below(3)), {}, {}};
      report.stored.push_back({choices_.Below(3) * 100, 0});
      report.removed.push_back({choices_.Below(3) * 100, 0});
      return {report};
    }
    default:
      return {EngineReport{*replica, now, static_cast<double>(choices_.Below(110)) / 100,
                           static_cast<int>(choices_.Below(20)), static_cast<int>(choices_.Below(5))}};
  }
}

std::vector<Event> DrawnEngines::ChangeHealth() {
  static constexpr Health kStates[] = {Health::kDown, Health::kUp,      Health::kUp,
                                       Health::kUp,   Health::kProbing, Health::kDraining};
  const std::optional<ReplicaId> replica = fleet_.AnyLive();
  if (!replica) return {};
  return SetHealth(*replica, kStates[choices_.Below(std::size(kStates))]);
}

Event DrawnEngines::TellAdapter(const AdapterResidency& event) {
  if (event.loaded) {
    loaded_.insert({event.replica, event.model});
  } else {
    loaded_.erase({event.replica, event.model});
  }
  return event;
}

std::vector<Event> DrawnEngines::SetHealth(ReplicaId replica, Health health) {
  health_[replica.value()] = health;
  return {ReplicaHealth{replica, health}};
}

std::vector<Event> DrawnEngines::Appear() {
  const std::vector<ReplicaSpec>& replicas = fleet_.told().replicas;
  health_.resize(replicas.size(), Health::kDown);
  std::vector<Event> events;
  for (uint32_t i = 0; i < replicas.size(); ++i) {
    if (IsVacant(replicas[i])) {
      health_[i] = Health::kDown;
      std::erase_if(loaded_, [i](const auto& each) { return each.first.value() == i; });
    }
    if (!replicas[i].removed && choices_.OneIn(2)) events.push_back(SetHealth(ReplicaId(i), Health::kUp).front());
  }
  return events;
}

std::vector<Event> DrawnEngines::AllUp() {
  std::vector<Event> events;
  for (uint32_t i = 0; i < fleet_.told().replicas.size(); ++i) {
    if (!fleet_.told().replicas[i].removed) events.push_back(SetHealth(ReplicaId(i), Health::kUp).front());
  }
  return events;
}

bool DrawnEngines::Takes(ReplicaId replica, ModelId model) const {
  if (replica.value() >= health_.size()) return false;
  const ReplicaSpec& spec = fleet_.told().replicas[replica.value()];
  const Health health = health_[replica.value()];
  const std::vector<ModelId>& on_demand = spec.adapters.on_demand;
  const bool absent =
      std::find(on_demand.begin(), on_demand.end(), model) != on_demand.end() && loaded_.count({replica, model}) == 0;
  return !spec.removed && spec.Serves(model) && !absent && (health == Health::kUp || health == Health::kProbing);
}

}  // namespace penstock::testing
