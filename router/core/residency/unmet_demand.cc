#include "router/core/residency/unmet_demand.h"

#include <algorithm>
#include <utility>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// The part of a TTFT goal after which a request that awake servers did not take is no matter of a moment.
constexpr double kPatientPart = 0.1;
// The part of it that requests of a replica may wait until it is awake again.
constexpr double kSparePart = 0.5;

// Requests that came back from an engine count as younger than all others.
std::pair<bool, uint64_t> AgeOf(const RequestState& request) { return {CameBack(request), request.sequence}; }

}  // namespace

void UnmetDemand::Configure() {
  const std::vector<ModelSpec>& models = fleet_.spec().models;
  const std::vector<ClassSpec>& classes = fleet_.spec().classes;
  std::vector<ModelDemand> demand(models.size() * classes.size());
  for (size_t i = 0; i < demand.size(); ++i) {
    const size_t model = i / classes.size(), service_class = i % classes.size();
    const size_t before = model * classes_ + service_class;
    const bool known = service_class < classes_ && before < demand_.size();
    if (known && !IsVacant(models[model]) && !IsVacant(classes[service_class])) demand[i] = demand_[before];
  }
  demand_ = std::move(demand);
  classes_ = classes.size();
}

void UnmetDemand::Arrived(const RequestState& request, Instant now) {
  const double tokens = request.arrived.embedding ? 1 : forecasts_.ExpectedOutput(request);
  const size_t place = request.arrived.model.value() * classes_ + request.arrived.service_class.value();
  demand_[place].Arrived(tokens * request.arrived.sequences, now);
}

const RequestState* UnmetDemand::Oldest(ModelId model) const {
  const Lane& lane = waiting_.lane(model);
  const RequestState* oldest = nullptr;
  for (uint32_t i = 0; i < fleet_.spec().classes.size(); ++i) {
    const RequestState* request = lane.OldestReady(ClassId(i));
    if (request == nullptr) continue;
    if (oldest == nullptr || AgeOf(*request) < AgeOf(*oldest)) oldest = request;
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
  // Awake servers take back what they had.
  if (CameBack(oldest)) return 0;
  const double goal = fleet_.GoalsOf(oldest).ttft.seconds();
  const double waited = (now - oldest.arrival).seconds();
  if (waited < kPatientPart * goal) return 0;
  return ready - lane.DrainRate(now) * std::max(0.0, goal - waited);
}

Need UnmetDemand::Of(ModelId model, Instant now) const {
  Need need{model, 0, Instant::Never(), std::nullopt};
  if (waiting_.lane(model).ready() == 0) return need;
  const RequestState* first = Oldest(model);
  if (first == nullptr) return need;
  const RequestState& oldest = *first;
  const std::optional<ReplicaId> home = oldest.arrived.home;
  const bool sleeps =
      home && fleet_.Knows(*home) && fleet_.replicas()[home->value()].presence.residency == Residency::kAsleep;
  if (sleeps) need.home = home;
  const double requests = sleeps ? 1 : LeftBehind(model, oldest, now);
  if (requests <= 0) return need;
  need.tokens = requests * std::max(1.0, forecasts_.ExpectedOutput(oldest));
  need.due = (CameBack(oldest) ? now : oldest.arrival) + fleet_.GoalsOf(oldest).ttft;
  return need;
}

double UnmetDemand::AwakeServers(ModelId model) const {
  const std::vector<size_t>& servers = servers_.Of(model);
  const auto awake = std::count_if(servers.begin(), servers.end(),
                                   [&](size_t index) { return fleet_.replicas()[index].presence.Takes(); });
  return static_cast<double>(std::max<std::ptrdiff_t>(1, awake));
}

double UnmetDemand::RateOf(ModelId model, Instant now) const {
  double rate = 0;
  for (uint32_t i = 0; i < classes_; ++i) rate += DemandOf(model, ClassId(i)).Rate(now);
  return rate;
}

double UnmetDemand::RateOf(const ReplicaState& replica, Instant now) const {
  double rate = 0;
  for (const ModelId model : replica.spec().models) rate += RateOf(model, now) / AwakeServers(model);
  return rate;
}

double UnmetDemand::LateWithout(const ReplicaState& replica, double away, Instant now) const {
  double tokens = 0;
  for (const ModelId model : replica.spec().models) {
    const double servers = AwakeServers(model);
    for (uint32_t i = 0; i < classes_; ++i) {
      const RequestState* oldest = waiting_.lane(model).OldestReady(ClassId(i));
      const double waited = oldest == nullptr || CameBack(*oldest) ? 0 : (now - oldest->arrival).seconds();
      const double spare = kSparePart * fleet_.spec().classes[i].ttft.seconds() - waited;
      tokens += DemandOf(model, ClassId(i)).Rate(now) / servers * std::max(0.0, away - std::max(0.0, spare));
    }
  }
  return tokens;
}

bool UnmetDemand::NobodyWaitsFor(const ReplicaState& replica) const {
  const std::vector<ModelId>& models = replica.spec().models;
  return std::all_of(models.begin(), models.end(), [&](ModelId model) { return waiting_.lane(model).empty(); });
}

}  // namespace penstock
