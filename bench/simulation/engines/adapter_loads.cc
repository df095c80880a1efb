#include "bench/simulation/engines/adapter_loads.h"

#include <algorithm>

namespace penstock::bench {

AdapterLoads::AdapterLoads(const SimulatedFleetSpec& spec, EventQueue& events)
    : spec_(spec), events_(events), adapters_(spec.fleet.replicas.size()) {}

bool AdapterLoads::OnDemand(size_t replica, ModelId model) const {
  const std::vector<ModelId>& models = spec_.fleet.replicas[replica].adapters.on_demand;
  return std::find(models.begin(), models.end(), model) != models.end();
}

Duration AdapterLoads::TimeOf(size_t replica) {
  const double noise = 1 + kNoise * (2 * generator_.Uniform() - 1);
  return Duration::Seconds(spec_.fleet.replicas[replica].adapters.load.seconds() * noise);
}

void AdapterLoads::Enter(size_t replica, ModelId model, Instant ready_at, std::optional<ModelId> instead_of) {
  std::vector<Adapter>& own = adapters_[replica];
  std::erase_if(own, [&](const Adapter& each) { return each.model == model || each.model == instead_of; });
  const auto most = static_cast<size_t>(std::max(1, spec_.fleet.replicas[replica].adapters.most));
  while (own.size() >= most) {
    own.erase(std::min_element(own.begin(), own.end(),
                               [](const Adapter& a, const Adapter& b) { return a.used_at < b.used_at; }));
  }
  own.push_back({model, ready_at, events_.now()});
}

void AdapterLoads::Begin(const LoadAdapter& order, bool able) {
  const size_t replica = order.replica.value();
  orders_.push_back({order, events_.now(), !able});
  const Instant end = events_.now() + TimeOf(replica);
  if (able) Enter(replica, order.model, end, order.instead_of);
  events_.Schedule(end, Occurrence::kAdapterEnds, orders_.size() - 1);
}

AdapterResidency AdapterLoads::End(uint64_t order) {
  const UnderWay& ended = orders_[order];
  const std::vector<Adapter>& own = adapters_[ended.order.replica.value()];
  const bool there =
      std::any_of(own.begin(), own.end(), [&](const Adapter& each) { return each.model == ended.order.model; });
  const bool fails = ended.fails || !there;
  ++(fails ? failed_ : loads_);
  return {ended.order.replica, ended.order.model, !fails, fails, events_.now() - ended.since};
}

bool AdapterLoads::Delays(size_t replica, ModelId model, uint64_t request, uint64_t tries) {
  const Duration load = Use(replica, model);
  if (load <= Duration()) return false;
  events_.Schedule(events_.now() + load, Occurrence::kSubmit, request, tries);
  return true;
}

Duration AdapterLoads::Use(size_t replica, ModelId model) {
  if (!OnDemand(replica, model)) return Duration();
  for (Adapter& each : adapters_[replica]) {
    if (each.model != model) continue;
    each.used_at = events_.now();
    return std::max(Duration(), each.ready_at - events_.now());
  }
  const Duration takes = TimeOf(replica);
  Enter(replica, model, events_.now() + takes, std::nullopt);
  ++loads_;
  return takes;
}

std::vector<AdapterResidency> AdapterLoads::Forget(size_t replica) {
  std::vector<AdapterResidency> gone;
  for (const Adapter& each : adapters_[replica]) {
    gone.push_back({ReplicaId(static_cast<uint32_t>(replica)), each.model, false, false, Duration()});
  }
  adapters_[replica].clear();
  return gone;
}

}  // namespace penstock::bench
