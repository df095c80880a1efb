#include "router/core/adapters/adapters.h"

#include <algorithm>
#include <tuple>

namespace penstock {
namespace {

// While requests wait for an adapter that nobody loads, they are looked at this often.
constexpr Duration kNextAdapterLook = Duration::Milliseconds(100);
// The edge ends each load within the timeout. An order whose end got lost counts as failed after so much longer.
constexpr Duration kLostOrder = Duration::Seconds(5);

bool RunsOn(const ReplicaState& replica, ModelId model) {
  const std::vector<RequestState*>& requests = replica.requests();
  return std::any_of(requests.begin(), requests.end(),
                     [model](const RequestState* request) { return request->arrived.model == model; });
}

// A request that has no token yet may not have reached its engine.
bool BeginsOn(const ReplicaState& replica, ModelId model) {
  const std::vector<RequestState*>& requests = replica.requests();
  return std::any_of(requests.begin(), requests.end(), [model](const RequestState* request) {
    return request->arrived.model == model && request->phase == RequestPhase::kPrefilling;
  });
}

}  // namespace

void Adapters::Configure(Instant now) {
  const std::vector<ReplicaSpec>& replicas = fleet_.spec().replicas;
  std::vector<AdapterHost> before = std::move(hosts_);
  hosts_.clear();
  models_.clear();
  by_replica_.assign(replicas.size(), nullptr);
  for (size_t i = 0; i < replicas.size(); ++i) {
    fleet_.replicas()[i].presence.absent.clear();
    const AdapterSpec& spec = replicas[i].adapters;
    if (replicas[i].removed || spec.on_demand.empty()) continue;
    const auto known =
        std::find_if(before.begin(), before.end(), [i](const AdapterHost& host) { return host.replica == i; });
    AdapterHost host{i, {}, known == before.end() ? WakeTime() : known->load};
    host.load.Configure(spec.load);
    for (const ModelId model : spec.on_demand) {
      const AdapterState* was = known == before.end() ? nullptr : known->Find(model);
      host.adapters.push_back(was == nullptr ? AdapterState() : *was);
      host.adapters.back().model = model;
    }
    models_.insert(models_.end(), spec.on_demand.begin(), spec.on_demand.end());
    hosts_.push_back(std::move(host));
  }
  std::sort(models_.begin(), models_.end());
  models_.erase(std::unique(models_.begin(), models_.end()), models_.end());
  for (AdapterHost& host : hosts_) {
    by_replica_[host.replica] = &host;
    Changed(host);
  }
  next_review_ = now;
}

void Adapters::Changed(const AdapterHost& host) {
  ReplicaState& replica = StateOf(host);
  replica.presence.absent.clear();
  for (const AdapterState& each : host.adapters) {
    if (each.place != Place::kLoaded) replica.presence.absent.push_back(each.model);
  }
  work_.Open(replica);
  touched_ = true;
}

void Adapters::Arrived(const RequestState* request) {
  if (request == nullptr || !std::binary_search(models_.begin(), models_.end(), request->arrived.model)) return;
  touched_ = true;
}

void Adapters::Leaves(const RequestState* request, Instant now) {
  if (request == nullptr) return;
  if (request->phase == RequestPhase::kWaiting) return;
  AdapterHost* host = HostOf(request->running.replica.value());
  if (host == nullptr) return;
  touched_ = true;
  if (AdapterState* adapter = host->Find(request->arrived.model)) adapter->last_used = now;
}

void Adapters::Told(const AdapterResidency& event, Instant now) {
  AdapterHost* host = HostOf(event.replica.value());
  AdapterState* adapter = host == nullptr ? nullptr : host->Find(event.model);
  if (adapter == nullptr) return;
  // A look at the engine may be older than the order under way.
  if (adapter->place == Place::kLoading && event.took == Duration()) return;
  if (event.failed) adapter->Fail(now);
  if (event.loaded) {
    if (adapter->place != Place::kLoaded) adapter->loaded_at = adapter->last_used = now;
    adapter->place = Place::kLoaded;
    if (!event.failed) adapter->failures = 0;
    if (event.took > Duration()) host->load.Observe(event.took);
  } else {
    adapter->place = Place::kAbsent;
  }
  adapter->overdue_at = Instant::Never();
  Changed(*host);
}

void Adapters::SettleOrders(Instant now) {
  for (AdapterHost& host : hosts_) {
    for (AdapterState& adapter : host.adapters) {
      if (adapter.place != Place::kLoading || now < adapter.overdue_at) continue;
      adapter.Fail(now);
      adapter.overdue_at = Instant::Never();
      Changed(host);
    }
  }
}

Duration Adapters::LongestWait(ModelId model, Instant now) const {
  const Lane& lane = waiting_.lane(model);
  Duration longest;
  for (uint32_t i = 0; i < fleet_.spec().classes.size(); ++i) {
    const RequestState* oldest = lane.Oldest(ClassId(i));
    if (oldest != nullptr) longest = std::max(longest, now - oldest->waiting.since);
  }
  return longest;
}

Adapters::Coverage Adapters::CoverageOf(ModelId model, double load, Instant now) {
  Coverage coverage;
  for (const size_t index : servers_.Of(model)) {
    const ReplicaState& replica = fleet_.replicas()[index];
    if (!replica.presence.CountsAsUp(replica.health)) continue;
    coverage.up = true;
    AdapterHost* host = HostOf(index);
    const AdapterState* adapter = host == nullptr ? nullptr : host->Find(model);
    const bool has = adapter == nullptr || adapter->place == Place::kLoaded;
    if (has && !replica.presence.Takes()) {
      const bool wakes = replica.presence.residency == Residency::kWaking;
      coverage.comes = coverage.comes || (wakes && replica.presence.SecondsAway(now) <= load);
      coverage.able = true;
    } else if (has) {
      coverage.least_busy = coverage.there ? std::min(coverage.least_busy, replica.sequences()) : replica.sequences();
      coverage.there = true;
    } else if (adapter->place == Place::kLoading) {
      coverage.comes = true;
    } else {
      coverage.able = coverage.able || adapter->trusted_at <= now;
    }
  }
  return coverage;
}

AdapterState* Adapters::VictimOf(AdapterHost& host, bool pressing, Instant now) {
  const ReplicaState& replica = StateOf(host);
  const double stay = std::max(kLeastStaySeconds, kLeastStay * host.load.expected().seconds());
  AdapterState* victim = nullptr;
  bool victim_runs = false;
  for (AdapterState& each : host.adapters) {
    if (each.place != Place::kLoaded) continue;
    const bool runs = RunsOn(replica, each.model);
    const bool settled = (now - each.loaded_at).seconds() >= stay;
    if (runs && (!pressing || !settled || BeginsOn(replica, each.model))) continue;
    if (!settled && waiting_.lane(each.model).ready() > 0) continue;
    if (victim != nullptr && std::tuple(victim_runs, victim->last_used) <= std::tuple(runs, each.last_used)) continue;
    victim = &each;
    victim_runs = runs;
  }
  return victim;
}

bool Adapters::MayLoad(AdapterHost& host, bool pressing, Instant now, AdapterState** victim) {
  const ReplicaState& replica = StateOf(host);
  *victim = nullptr;
  if (!IsUp(replica.health) || !replica.presence.Takes() || host.Loads()) return false;
  if (host.Loaded() < replica.spec().adapters.most) return true;
  *victim = VictimOf(host, pressing, now);
  return *victim != nullptr;
}

double Adapters::LoadSeconds(const AdapterHost& host) const {
  return host.load.expected().seconds() * fleet_.replicas()[host.replica].facts.node.StorageFactor();
}

Adapters::Offer Adapters::BestOffer(ModelId model, const Coverage& coverage, bool pressing, Instant now) {
  struct Rank {
    bool has_victim;
    double seconds;
    int64_t busy;
    // A load that takes less than half as long goes first, whoever is busy.
    bool IsBetterThan(const Rank& other) const {
      if (has_victim != other.has_victim) return !has_victim;
      if (seconds > 2 * other.seconds || other.seconds > 2 * seconds) return seconds < other.seconds;
      return busy < other.busy;
    }
  };
  Offer best;
  Rank least{};
  for (const size_t index : servers_.Of(model)) {
    AdapterHost* host = HostOf(index);
    AdapterState* adapter = host == nullptr ? nullptr : host->Find(model);
    if (adapter == nullptr || adapter->place != Place::kAbsent || now < adapter->trusted_at) continue;
    const int64_t busy = StateOf(*host).sequences();
    if (coverage.there && busy >= coverage.least_busy) continue;
    Offer offer{host, nullptr};
    if (!MayLoad(*host, pressing && !coverage.there, now, &offer.victim)) continue;
    const Rank rank{offer.victim != nullptr, LoadSeconds(*host), busy};
    if (best.host != nullptr && !rank.IsBetterThan(least)) continue;
    best = offer;
    least = rank;
  }
  return best;
}

void Adapters::Order(const Offer& offer, ModelId model, Instant now, std::vector<Action>& actions) {
  AdapterState& adapter = *offer.host->Find(model);
  LoadAdapter order{ReplicaId(static_cast<uint32_t>(offer.host->replica)), model, std::nullopt};
  if (offer.victim != nullptr) {
    offer.victim->place = Place::kAbsent;
    order.instead_of = offer.victim->model;
  }
  adapter.place = Place::kLoading;
  adapter.overdue_at = now + StateOf(*offer.host).spec().adapters.timeout + kLostOrder;
  actions.push_back(order);
  Changed(*offer.host);
}

void Adapters::Consider(ModelId model, Instant now, std::vector<Action>& actions) {
  if (waiting_.lane(model).ready() == 0) return;
  next_review_ = std::min(next_review_, now + kNextAdapterLook);
  double load = 0;
  for (const size_t index : servers_.Of(model)) {
    if (const AdapterHost* host = HostOf(index)) load = std::max(load, host->load.expected().seconds());
  }
  const Coverage coverage = CoverageOf(model, load, now);
  if (coverage.comes) return;
  if (!coverage.there && coverage.up && !coverage.able) {
    next_review_ = now;  // A timer refuses them.
    return hopeless_.push_back(model);
  }
  const Duration wait = LongestWait(model, now);
  const double patience = kPatience * load;
  if (coverage.there && wait.seconds() < patience) return;
  const bool pressing = wait.seconds() >= std::max(kBusyPatience, patience);
  const Offer offer = BestOffer(model, coverage, pressing, now);
  if (offer.host != nullptr) Order(offer, model, now, actions);
}

void Adapters::Review(Instant now, std::vector<Action>& actions) {
  hopeless_.clear();
  if (!any() || (!touched_ && now < next_review_)) return;
  next_review_ = Instant::Never();
  SettleOrders(now);
  for (const ModelId model : models_) Consider(model, now, actions);
  for (const AdapterHost& host : hosts_) {
    for (const AdapterState& adapter : host.adapters) next_review_ = std::min(next_review_, adapter.overdue_at);
  }
  touched_ = false;
}

}  // namespace penstock
