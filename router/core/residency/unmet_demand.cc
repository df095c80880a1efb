#include "router/core/residency/unmet_demand.h"

#include <algorithm>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// The part of a TTFT goal after which a request that awake servers did not take is no matter of a moment.
constexpr double kPatientPart = 0.1;

}  // namespace

void UnmetDemand::Configure() {
  const std::vector<ModelSpec>& models = fleet_.spec().models;
  demand_.resize(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    if (IsVacant(models[i])) demand_[i] = ModelDemand();
  }
}

void UnmetDemand::Arrived(const RequestState& request, Instant now) {
  const double tokens = request.arrived.embedding ? 1 : forecasts_.ExpectedOutput(request);
  demand_[request.arrived.model.value()].Arrived(tokens * request.arrived.sequences, now);
}

const RequestState* UnmetDemand::Oldest(ModelId model) const {
  const Lane& lane = waiting_.lane(model);
  const RequestState* oldest = nullptr;
  for (uint32_t i = 0; i < fleet_.spec().classes.size(); ++i) {
    const RequestState* request = lane.Oldest(ClassId(i));
    if (request != nullptr && (oldest == nullptr || request->sequence < oldest->sequence)) oldest = request;
  }
  return oldest;
}

double UnmetDemand::LeftBehind(ModelId model, const RequestState& oldest, Instant now) const {
  const Lane& lane = waiting_.lane(model);
  const auto ready = static_cast<double>(lane.ready());
  const std::vector<size_t>& servers = servers_.Of(model);
  const bool one_comes = std::any_of(servers.begin(), servers.end(), [&](size_t index) {
    const Presence& presence = fleet_.replicas()[index].presence;
    return presence.wanted || (presence.residency == Residency::kWaking && presence.trusted);
  });
  if (one_comes) return 0;
  if (!servers_.AnyAwake(model)) return ready;
  const double goal = fleet_.GoalsOf(oldest).ttft.seconds();
  const double waited = (now - oldest.arrival).seconds();
  if (waited < kPatientPart * goal) return 0;
  return ready - lane.DrainRate(now) * std::max(0.0, goal - waited);
}

Need UnmetDemand::Of(ModelId model, Instant now) const {
  Need need{model, 0, Instant::Never(), std::nullopt};
  if (waiting_.lane(model).ready() == 0) return need;
  const RequestState& oldest = *Oldest(model);
  const std::optional<ReplicaId> home = oldest.arrived.home;
  const bool sleeps =
      home && fleet_.Knows(*home) && fleet_.replicas()[home->value()].presence.residency == Residency::kAsleep;
  if (sleeps) need.home = home;
  const double requests = sleeps ? 1 : LeftBehind(model, oldest, now);
  if (requests <= 0) return need;
  need.tokens = requests * std::max(1.0, forecasts_.ExpectedOutput(oldest));
  need.due = oldest.arrival + fleet_.GoalsOf(oldest).ttft;
  return need;
}

double UnmetDemand::RateOf(const ReplicaState& replica, Instant now) const {
  double rate = 0;
  for (const ModelId model : replica.spec().models) {
    const std::vector<size_t>& servers = servers_.Of(model);
    const auto awake = std::count_if(servers.begin(), servers.end(),
                                     [&](size_t index) { return fleet_.replicas()[index].presence.Takes(); });
    rate += demand_[model.value()].Rate(now) / static_cast<double>(std::max<std::ptrdiff_t>(1, awake));
  }
  return rate;
}

bool UnmetDemand::NobodyWaitsFor(const ReplicaState& replica) const {
  const std::vector<ModelId>& models = replica.spec().models;
  return std::all_of(models.begin(), models.end(), [&](ModelId model) { return waiting_.lane(model).empty(); });
}

}  // namespace penstock
