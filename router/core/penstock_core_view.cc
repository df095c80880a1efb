// Snapshots of PenstockCore for metrics and receipts.
#include "router/core/penstock_core.h"

namespace penstock {

CoreView PenstockCore::View(Instant now) const {
  CoreView view;
  for (size_t i = 0; i < pools_.size(); ++i) {
    const PoolId id(static_cast<uint32_t>(i));
    const PoolState& pool = pools_[i];
    PoolView& out = view.pools.emplace_back();
    out.name = pool.spec.name;
    out.in_bytes = pool.spec.in_bytes;
    out.capacity = ledger_.capacity(id);
    out.promised = ledger_.promised(id);
    out.held = ledger_.held(id);
    out.draining = ledger_.draining(id);
    out.forecast_peak = Amount(static_cast<int64_t>(pool.growth.Peak(pool.risk.z(), now)));
    out.reported = ledger_.reported(id);
    out.foreign = ledger_.foreign(id);
    out.overdraft = ledger_.overdraft(id);
    out.z = pool.risk.z();
    out.report_age = ledger_.ReportAge(id, now);
    out.overdrafts = ledger_.overdrafts(id);
    for (size_t k = 0; k < kForecastChecks; ++k) {
      out.forecast_errors[k] = {pool.samples[k].last_error, pool.samples[k].compared};
    }
  }
  for (const ReplicaState& replica : replicas_) {
    ReplicaView& out = view.replicas.emplace_back();
    const int busy = BusyNeighbours(replica);
    out.name = replica.spec().name;
    if (!replica.spec().models.empty()) out.model = fleet_.models[replica.spec().models.front().value()].name;
    out.health = replica.health;
    out.running = static_cast<int64_t>(replica.requests().size());
    out.prefilling = static_cast<int64_t>(replica.prefilling().size());
    out.backlog = Tokens(static_cast<int64_t>(replica.backlog()));
    out.step_factor = replica.steps_model().Factor(busy);
    out.tokens_per_s = replica.TokensPerSecond(busy);
    out.preemptions = replica.preemptions_seen;
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    for (size_t c = 0; c < fleet_.classes.size(); ++c) {
      const ClassId service_class(static_cast<uint32_t>(c));
      LaneView& out = view.lanes.emplace_back();
      out.model = fleet_.models[i].name;
      out.service_class = fleet_.classes[c].name;
      out.waiting = lanes_[i].size(service_class);
      if (const RequestState* oldest = lanes_[i].Oldest(service_class)) out.oldest_wait = now - oldest->arrival;
    }
  }
  view.counters = counters_;
  view.queued_requests = queued_requests_;
  view.queued_bytes = queued_bytes_;
  return view;
}

std::optional<WaitView> PenstockCore::WaitOf(RequestId id) const {
  const auto found = requests_.find(id);
  if (found == requests_.end() || found->second->phase != RequestPhase::kWaiting) return std::nullopt;
  const RequestState& request = *found->second;
  return WaitView{request.wait_reason, lanes_[request.arrived.model.value()].PositionOf(request)};
}

}  // namespace penstock
