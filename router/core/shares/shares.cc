#include "router/core/shares/shares.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// A limit counts as read back so long after its order: time for another writer, and for the next allocation.
constexpr Duration kHoldsFor = Duration::Milliseconds(200);
// Limits are whole pages of kvcached.
constexpr int64_t kPage = int64_t{2} << 20;

Bytes WholePages(double bytes) { return Bytes(static_cast<int64_t>(bytes) / kPage * kPage); }

// The limit in whole pages, at least `floor`.
Bytes LimitOf(double bytes, double floor) {
  const Bytes limit = WholePages(bytes);
  return limit.AsDouble() >= floor ? limit : limit + Bytes(kPage);
}

Bytes HeldBy(const ElasticReport& report) { return report.used + report.preallocated; }

}  // namespace

void Shares::Configure() {
  std::vector<Engine> before = std::exchange(engines_, {});
  std::map<uint32_t, ManagedGpu> gpus_before = std::exchange(gpus_, {});
  const Fleet& fleet = fleet_.spec();
  for (uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const ReplicaSpec& replica = fleet.replicas[i];
    if (replica.removed) continue;
    const auto known =
        std::find_if(before.begin(), before.end(), [&](const Engine& engine) { return engine.replica.value() == i; });
    const Engine* const engine = known == before.end() ? nullptr : &*known;
    if (!AddEngine(ReplicaId(i), engine) && engine != nullptr) KeepCounts(*engine);
  }
  // A plan is as of the engines that it was made for.
  for (auto& [id, gpu] : gpus_) gpu.plan_since = gpus_before[id].plan_since;
}

bool Shares::AddEngine(ReplicaId id, const Engine* before) {
  const std::vector<GpuSpec>& gpus = fleet_.spec().gpus;
  const ReplicaSpec& replica = fleet_.spec().replicas[id.value()];
  if (replica.gpus.size() != 1 || replica.gpus.front() >= gpus.size()) return false;
  if (!gpus[replica.gpus.front()].managed) return false;
  const auto own = std::find_if(replica.pools.begin(), replica.pools.end(), [&](const PoolShare& share) {
    return fleet_.spec().pools[share.pool.value()].limited;
  });
  if (own == replica.pools.end()) return false;
  Engine engine = before == nullptr ? Engine() : *before;
  engine.replica = id;
  engine.pool = own->pool;
  ManagedGpu& gpu = gpus_[replica.gpus.front()];
  gpu.memory = gpus[replica.gpus.front()].elastic;
  gpu.engines.push_back(engines_.size());
  engines_.push_back(engine);
  return true;
}

void Shares::KeepCounts(const Engine& before) {
  Engine engine;
  engine.replica = before.replica;
  engine.orders = before.orders;
  engine.failed = before.failed;
  engines_.push_back(engine);
}

void Shares::Told(const ElasticReport& report, Instant now, std::vector<Action>& actions) {
  if (gpus_.empty()) return;
  const ReplicaSpec& replica = fleet_.replica(report.replica).spec();
  if (replica.gpus.size() != 1) return;
  const auto gpu = gpus_.find(replica.gpus.front());
  if (gpu != gpus_.end()) Review(gpu->second, now, actions);
}

bool Shares::Moves(const Engine& engine, Instant now) const {
  return HasFreshElasticReport(StateOf(engine), now) && now >= engine.paused_until;
}

Bytes Shares::EqualShare(const Engine& engine) const {
  const ManagedGpu& gpu = gpus_.at(StateOf(engine).spec().gpus.front());
  return WholePages(gpu.memory.AsDouble() / static_cast<double>(gpu.engines.size()));
}

Bytes Shares::Taken(const Engine& engine, Instant now) const {
  const ReplicaState& replica = StateOf(engine);
  if (LendsElasticMemory(replica, now)) return Bytes(0);
  const std::optional<ElasticReport>& report = replica.facts.elastic;
  // Its limit from before the sleep says nothing of an engine that wakes.
  const bool wakes = !replica.presence.awake() && !HasFreshElasticReport(replica, now);
  if (!report || wakes) return EqualShare(engine);
  const Bytes taken = std::max(report->limit, HeldBy(*report));
  return engine.order ? std::max({taken, *engine.order, engine.before}) : taken;
}

void Shares::Settle(Engine& engine, Instant now) {
  if (!engine.order) return;
  // An engine that is not there answers no order, and that is no failure.
  if (LendsElasticMemory(StateOf(engine), now)) return engine.order.reset();
  const std::optional<ElasticReport>& report = StateOf(engine).facts.elastic;
  if (report && report->sampled_at >= engine.ordered_at + kHoldsFor && report->limit == *engine.order) {
    engine.order.reset();
    engine.pause = kPause;
    return;
  }
  if (now - engine.ordered_at < kShareReadBack) return;
  engine.order.reset();
  ++engine.failed;
  engine.paused_until = now + engine.pause;
  engine.pause = std::min(engine.pause * 2, kLongestPause);
}

double Shares::WaitingFor(const ReplicaState& replica, const Footprint& footprint, Instant now) const {
  double bytes = 0;
  std::vector<RequestState*> first;
  for (const ModelId model : replica.spec().models) {
    const Lane& lane = waiting_.lane(model);
    if (lane.ready() == 0) continue;
    first.clear();
    lane.Candidates(first, now);
    double sum = 0;
    for (const RequestState* request : first) {
      const double tokens = request->Prompt().AsDouble() + forecasts_.ExpectedOutput(*request);
      sum += footprint.Expected(tokens) * request->arrived.sequences;
    }
    const std::vector<size_t>& servers = servers_.Of(model);
    const auto up = std::count_if(servers.begin(), servers.end(),
                                  [&](size_t index) { return fleet_.replicas()[index].Placeable(); });
    const double mean = first.empty() ? 0 : sum / static_cast<double>(first.size());
    bytes += mean * static_cast<double>(lane.ready()) / static_cast<double>(std::max<std::ptrdiff_t>(1, up));
  }
  return bytes;
}

ShareClaim Shares::ClaimOf(const Engine& engine, Instant now) const {
  ShareClaim claim;
  const ReplicaState& replica = StateOf(engine);
  claim.limit = Taken(engine, now).AsDouble();
  claim.fixed = !Moves(engine, now);
  if (claim.fixed) return claim;
  const PoolState& pool = fleet_.pool(engine.pool);
  const PoolBalance& balance = fleet_.ledger().balance(engine.pool);
  const double forecast = pool.growth().Peak(pool.risk().z(), now) + balance.draining.AsDouble();
  claim.floor = std::max({HeldBy(*replica.facts.elastic).AsDouble(), balance.held.AsDouble(), forecast});
  const auto own = std::find_if(replica.spec().pools.begin(), replica.spec().pools.end(),
                                [&](const PoolShare& share) { return share.pool == engine.pool; });
  claim.want = claim.floor + WaitingFor(replica, own->footprint, now);
  return claim;
}

void Shares::MakePlan(ManagedGpu& gpu, Instant now) {
  std::vector<ShareClaim> claims;
  claims.reserve(gpu.engines.size());
  for (const size_t index : gpu.engines) claims.push_back(ClaimOf(engines_[index], now));
  const double memory = gpu.memory.AsDouble();
  if (!IsUneven(claims, memory)) {
    gpu.uneven_since.reset();
    return;
  }
  if (!gpu.uneven_since) gpu.uneven_since = now;
  const bool rested = gpu.plan_since == Instant() || now - gpu.plan_since >= kInterval;
  if (!rested || now - *gpu.uneven_since < kPatience) return;
  const std::vector<double> limits = SplitMemory(claims, memory);
  if (!IsWorthMoving(claims, limits, memory)) return;
  for (size_t i = 0; i < claims.size(); ++i) {
    gpu.plan.push_back(claims[i].fixed ? Taken(engines_[gpu.engines[i]], now) : LimitOf(limits[i], claims[i].floor));
  }
  gpu.plan_since = now;
  gpu.uneven_since.reset();
}

void Shares::Order(Engine& engine, Bytes limit, Instant now, std::vector<Action>& actions) {
  engine.before = Taken(engine, now);
  engine.order = limit;
  engine.ordered_at = now;
  ++engine.orders;
  actions.push_back(SetShare{engine.replica, limit});
}

void Shares::CarryOut(ManagedGpu& gpu, Instant now, std::vector<Action>& actions) {
  Bytes taken(0);
  bool frees = false;
  bool left = false;
  for (size_t i = 0; i < gpu.plan.size(); ++i) {
    Engine& engine = engines_[gpu.engines[i]];
    const bool moves = Moves(engine, now);
    if (moves && !engine.order && gpu.plan[i] < StateOf(engine).facts.elastic->limit) {
      Order(engine, gpu.plan[i], now, actions);
    }
    taken += Taken(engine, now);
    frees = frees || (moves && Taken(engine, now) > gpu.plan[i]);
  }
  for (size_t i = 0; i < gpu.plan.size(); ++i) {
    Engine& engine = engines_[gpu.engines[i]];
    if (engine.order || !Moves(engine, now)) continue;
    const Bytes before = Taken(engine, now);
    if (gpu.plan[i] <= before) continue;
    const Bytes free = std::max(Bytes(0), gpu.memory - taken);
    const Bytes limit = std::min(gpu.plan[i], WholePages((before + free).AsDouble()));
    const bool whole = limit == gpu.plan[i];
    if (limit > before && (whole || !frees)) {
      Order(engine, limit, now, actions);
      taken += limit - before;
    }
    left = left || (!whole && frees);
  }
  const bool ordered = std::any_of(gpu.engines.begin(), gpu.engines.end(),
                                   [&](size_t index) { return engines_[index].order.has_value(); });
  if (!ordered && !left && !frees) gpu.plan.clear();
  if (now - gpu.plan_since > kPlanTime) gpu.plan.clear();
  if (gpu.plan.empty()) gpu.plan_since = now;
}

void Shares::Review(ManagedGpu& gpu, Instant now, std::vector<Action>& actions) {
  for (const size_t index : gpu.engines) Settle(engines_[index], now);
  if (gpu.plan.empty()) MakePlan(gpu, now);
  if (!gpu.plan.empty()) CarryOut(gpu, now, actions);
}

void Shares::Show(CoreView& view) const {
  for (const Engine& engine : engines_) {
    ElasticView& shown = view.replicas[engine.replica.value()].elastic;
    shown.orders = engine.orders;
    shown.orders_failed = engine.failed;
  }
}

}  // namespace penstock
