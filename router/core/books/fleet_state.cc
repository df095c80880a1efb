#include "router/core/books/fleet_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "router/core/contract/admission_checks.h"
#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// Pools whose risk is looked at per event. Risk works in periods of 250 ms, so a fleet of 256 pools needs 32 events
// within each of them.
constexpr size_t kTicksPerEvent = 8;

// A place that is vacant now forgets what was learned there. One that still has requests or leases stays.
void Vacate(ReplicaState& replica, PrefixHolders* holders, size_t position) {
  if (replica.busy()) return;
  replica.prompts.Forget();
  replica = ReplicaState();
  replica.prompts.ListIn(holders, static_cast<uint32_t>(position));
}

void Vacate(PoolState& pool, MemoryLedger& ledger, size_t position) {
  const PoolId id(static_cast<uint32_t>(position));
  const PoolBalance& balance = ledger.balance(id);
  if (balance.promised != Amount(0) || balance.draining != Amount(0)) return;
  pool = PoolState();
  ledger.Renew(id, Amount(0));
}

}  // namespace

void FleetState::Configure(const Fleet& fleet, Instant now) {
  const Fleet before = std::exchange(spec_, fleet);
  ConfigurePools();
  replicas_.reserve(spec_.replicas.size());
  for (size_t i = replicas_.size(); i < spec_.replicas.size(); ++i) {
    replicas_.emplace_back().prompts.ListIn(&holders_, static_cast<uint32_t>(i));
  }
  for (size_t i = 0; i < spec_.replicas.size(); ++i) {
    const ReplicaSpec& replica = spec_.replicas[i];
    if (IsVacant(replica) && !replicas_[i].spec().name.empty()) Vacate(replicas_[i], &holders_, i);
    replicas_[i].Configure(replica, spec_.classes);
    if (Joins(before, spec_, i) && replicas_[i].health == Health::kDown) replicas_[i].presence.down_since = now;
    for (const PoolShare& share : replica.pools) {
      pool(share.pool).replicas().push_back(ReplicaId(static_cast<uint32_t>(i)));
    }
  }
  for (uint32_t i = 0; i < spec_.models.size(); ++i) {
    if (IsVacant(spec_.models[i])) demand.Forget(ModelId(i));
  }
  FindNeighbours();
  storage.Configure(spec_);
  ledger_.Reserve(static_cast<size_t>(Rows()));
  ReserveLandmarks();
}

void FleetState::ReserveLandmarks() {
  constexpr int64_t kTokens = kPrefixBlock.value() * static_cast<int64_t>(PrefixHolders::kLandmark);
  int64_t landmarks = 0;
  for (const ReplicaSpec& replica : spec_.replicas)
    landmarks += replica.removed ? 0 : (replica.prefix_cache + replica.host_cache.tokens).value() / kTokens;
  // A table that is half empty is never laid out again.
  holders_.Reserve(static_cast<size_t>(2 * std::min(landmarks, kMostReserved)));
}

int64_t FleetState::Rows() const {
  int64_t rows = 0;
  for (const ReplicaSpec& replica : spec_.replicas) rows += replica.removed ? 0 : replica.max_sequences;
  return std::min(rows, kMostReserved);
}

void FleetState::ConfigurePools() {
  for (size_t i = 0; i < spec_.pools.size(); ++i) {
    if (i >= pools_.size()) {
      pools_.emplace_back();
      ledger_.AddPool(spec_.pools[i].capacity);
    }
    if (IsVacant(spec_.pools[i]) && !pools_[i].spec().name.empty()) Vacate(pools_[i], ledger_, i);
    pools_[i].Configure(spec_.pools[i]);
    pools_[i].replicas().clear();
    ledger_.SetCapacity(PoolId(static_cast<uint32_t>(i)), spec_.pools[i].capacity);
  }
}

void FleetState::FindNeighbours() {
  neighbours_.assign(replicas_.size(), {});
  std::vector<std::vector<size_t>> on_gpu;
  for (size_t i = 0; i < spec_.replicas.size(); ++i) {
    for (const uint32_t gpu : spec_.replicas[i].gpus) {
      if (gpu >= on_gpu.size()) on_gpu.resize(gpu + 1);
      on_gpu[gpu].push_back(i);
    }
  }
  for (size_t i = 0; i < spec_.replicas.size(); ++i) {
    std::vector<size_t>& found = neighbours_[i];
    for (const uint32_t gpu : spec_.replicas[i].gpus) {
      found.insert(found.end(), on_gpu[gpu].begin(), on_gpu[gpu].end());
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::erase(found, i);
  }
}

int FleetState::BusyNeighbours(const ReplicaState& replica) const {
  int busy = 0;
  for (size_t other : NeighboursOf(replica)) busy += replicas_[other].busy() ? 1 : 0;
  return busy;
}

void FleetState::TickRisk(Instant now) {
  for (size_t i = 0; i < std::min(kTicksPerEvent, pools_.size()); ++i) {
    if (next_tick_ >= pools_.size()) next_tick_ = 0;
    pools_[next_tick_++].risk().Tick(now);
  }
}

void FleetState::CheckForecasts(const ReplicaState& replica, Instant now) {
  for (const PoolShare& share : replica.spec().pools) pool(share.pool).CheckForecast(now);
}

namespace {

// The engine should have computed its oldest prompt so long ago, and has not.
constexpr Duration kLatePrompt = Duration::Milliseconds(250);

bool HasLatePrompt(const ReplicaState& replica, Instant at) {
  if (replica.prefills().requests().empty()) return false;
  // A prompt that is computed elsewhere may be late there.
  if (replica.prefills().requests().front()->stage.apart) return false;
  const RunState& oldest = replica.prefills().requests().front()->running;
  return oldest.prefill_left == Tokens(0) && at > oldest.first_expected + kLatePrompt;
}

}  // namespace

void FleetState::Report(const EngineReport& event) {
  ReplicaState& replica = this->replica(event.replica);
  const int64_t preempted = replica.facts.TakePreemptions(event.preemptions);
  if (const auto seen = replica.prompts.counters().Take(event.cache_queries, event.cache_hits)) {
    // The counters do not tell the tiers apart.
    replica.prompts.reliability().Observe(seen->expected, seen->found);
    replica.prompts.host_reliability().Observe(seen->expected, seen->found);
  }
  replica.facts.used_share = event.kv_used_share;
  // Prompts that have just come wait for the next step of their engine, which says nothing of its rows.
  if (HasLatePrompt(replica, event.sampled_at)) {
    replica.facts.rows.Take(event.running, event.waiting, event.kv_used_share, event.sampled_at);
  }
  const int64_t sequences = event.running < 0 ? 0 : event.running + std::max(0, event.waiting);
  replica.facts.others = std::max<int64_t>(0, sequences - replica.sequences());
  for (const PoolShare& share : replica.spec().pools) {
    pool(share.pool).risk().Preempted(preempted);
    // With elastic memory, an engine's own figure is relative to a size that is not there.
    if (event.kv_used_share < 0 || replica.facts.elastic) continue;
    ReportUse(*this, share.pool, event.sampled_at);
  }
}

void LeavePools(FleetState& fleet, const RequestState& request) {
  for (const PoolMembership& in : request.pools) {
    if (!fleet.pool(in.pool).Leave(in.member)) continue;
    std::vector<const Membership*> members;
    for (const ReplicaState& replica : fleet.replicas()) {
      for (const RequestState* other : replica.requests()) {
        if (other == &request) continue;
        for (const PoolMembership& its : other->pools) {
          if (its.pool == in.pool) members.push_back(&its.member);
        }
      }
    }
    fleet.pool(in.pool).Recount(members);
  }
}

void ReportCache(FleetState& fleet, const CacheReport& event) {
  if (!fleet.Knows(event.replica)) return;
  ReplicaState& replica = fleet.replica(event.replica);
  const bool has_cache = replica.health != Health::kDown && replica.presence.awake();
  if (has_cache && replica.spec().prefix_cache > Tokens(0)) replica.prompts.Take(event);
}

void ReportUse(FleetState& fleet, PoolId id, Instant sampled_at) {
  const PoolState& pool = fleet.pool(id);
  UseReport report;
  report.sampled_at = sampled_at;
  double used = 0;
  int64_t own = 0;
  for (ReplicaId member : pool.replicas()) {
    const ReplicaState& replica = fleet.replica(member);
    const EngineFacts& facts = replica.facts;
    if (!facts.elastic) {
      used += std::max(0.0, facts.used_share) * pool.spec().capacity.AsDouble();
    } else if (!LendsElasticMemory(replica, sampled_at)) {
      used += facts.elastic->used.AsDouble();
    }
    report.others += facts.others;
    own += replica.sequences();
  }
  report.used = Amount(static_cast<int64_t>(used));
  const PoolBalance& balance = fleet.ledger().balance(id);
  const double growth = (balance.promised - balance.held).AsDouble();
  report.mean_remaining = growth / static_cast<double>(std::max<int64_t>(1, own));
  fleet.ledger().Report(id, report);
}

void FleetState::Show(CoreView& view, Instant now) const {
  for (size_t i = 0; i < pools_.size(); ++i) {
    const PoolId id(static_cast<uint32_t>(i));
    const PoolState& pool = pools_[i];
    const PoolBalance& balance = ledger_.balance(id);
    PoolView& out = view.pools.emplace_back();
    out.name = pool.spec().name;
    out.in_bytes = pool.spec().in_bytes;
    out.capacity = balance.capacity;
    out.promised = balance.promised;
    out.held = balance.held;
    out.draining = balance.draining;
    out.forecast_peak = Amount(static_cast<int64_t>(pool.growth().Peak(pool.risk().z(), now)));
    out.reported = balance.reported;
    out.foreign = balance.foreign;
    out.overdraft = balance.overdraft;
    out.lent = pool.lending().lent();
    out.z = pool.risk().z();
    out.report_age = ledger_.ReportAge(id, now);
    out.overdrafts = balance.overdrafts;
    for (size_t k = 0; k < kForecastChecks; ++k) out.forecast_errors[k] = pool.ErrorAt(k);
    out.cohort = pool.CohortAt(now);
    for (size_t k = 0; k < kFanSeconds.size(); ++k) {
      out.fan[k] = {pool.growth().MeanAt(kFanSeconds[k], now), pool.SigmaAt(kFanSeconds[k], now)};
    }
  }
  for (const ReplicaState& replica : replicas_) {
    ReplicaView& out = view.replicas.emplace_back();
    const int busy = BusyNeighbours(replica);
    out.name = replica.spec().name;
    if (!replica.spec().models.empty()) out.model = spec_.models[replica.spec().models.front().value()].name;
    out.role = replica.spec().role;
    out.health = replica.health;
    out.residency = replica.presence.residency;
    out.running = static_cast<int64_t>(replica.requests().size());
    out.prefilling = static_cast<int64_t>(replica.prefills().requests().size());
    out.backlog = replica.prefills().work();
    out.step_factor = replica.steps_model().Factor(busy);
    out.busy_neighbours = busy;
    out.host_time = replica.host_time.seconds();
    out.tokens_per_s = replica.Pace(busy).now;
    out.preemptions = replica.facts.preemptions_seen;
    if (const std::optional<ElasticReport>& elastic = replica.facts.elastic) {
      out.elastic = {true, elastic->limit, elastic->used, elastic->preallocated, now - elastic->sampled_at, 0, 0};
    }
  }
}

}  // namespace penstock
