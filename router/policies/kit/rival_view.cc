#include "router/policies/kit/rival_core.h"

#include <algorithm>

namespace penstock {

CoreView RivalCore::View(Instant now) const {
  CoreView view;
  for (size_t i = 0; i < fleet_.pools.size(); ++i) {
    const PoolSpec& spec = fleet_.pools[i];
    PoolView pool;
    pool.name = spec.name;
    pool.in_bytes = spec.in_bytes;
    pool.capacity = spec.capacity;
    pool.promised = pool.held = pool.forecast_peak = held_[i];
    pool.report_age = Duration::Infinite();
    view.pools.push_back(std::move(pool));
  }
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    const ReplicaSpec& spec = fleet_.replicas[i];
    const ReplicaState& state = replicas_[i];
    ReplicaView replica;
    replica.name = spec.name;
    if (!spec.models.empty()) replica.model = fleet_.models[spec.models.front().value()].name;
    replica.health = state.health;
    replica.running = state.running;
    replica.prefilling = state.prefilling;
    replica.tokens_per_s = 1000 / spec.prior.StepMs(static_cast<double>(state.running), 0, 0);
    replica.preemptions = state.preemptions;
    view.replicas.push_back(std::move(replica));
    if (!state.report) continue;
    for (const PoolShare& share : spec.pools) {
      PoolView& pool = view.pools[share.pool.value()];
      pool.report_age = std::min(pool.report_age, now - state.report->sampled_at);
      if (state.report->kv_used_share < 0) continue;
      const double used = state.report->kv_used_share * pool.capacity.AsDouble();
      pool.reported = std::max(pool.reported, Amount(static_cast<int64_t>(used)));
    }
  }
  for (const auto& [model, lane] : lanes_) {
    for (const auto& [service_class, waiting] : lane.by_class) {
      view.lanes.push_back({fleet_.models[model.value()].name, fleet_.classes[service_class.value()].name,
                            static_cast<int64_t>(waiting.size()),
                            waiting.empty() ? Duration() : now - waiting.begin()->first});
    }
  }
  view.counters.requeues = requeues_;
  view.queued_requests = static_cast<int64_t>(waiting_.size());
  view.queued_bytes = queued_bytes_;
  return view;
}

}  // namespace penstock
