// The fleet of PenstockCore: configuration, health, and who serves a model.
#include <algorithm>
#include <limits>

#include "router/core/penstock_core.h"

namespace penstock {
namespace {

// Requests for which tables are laid out beforehand, at most: some tens of bytes each.
constexpr int64_t kMostReserved = 100'000;

// The fleet as a router without a GPU-wide ledger would see it: every replica has its GPUs to itself, and an equal part
// of each elastic pool.
Fleet WithoutSharing(Fleet fleet) {
  std::vector<int64_t> members(fleet.pools.size(), 0);
  for (const ReplicaSpec& replica : fleet.replicas) {
    for (const PoolShare& share : replica.pools) ++members[share.pool.value()];
  }
  uint32_t next_gpu = 0;
  for (ReplicaSpec& replica : fleet.replicas) {
    for (uint32_t& gpu : replica.gpus) gpu = next_gpu++;
    for (PoolShare& share : replica.pools) {
      const int64_t count = members[share.pool.value()];
      if (count < 2) continue;
      PoolSpec part = fleet.pools[share.pool.value()];
      part.capacity = Amount(part.capacity.value() / count);
      share.pool = PoolId(static_cast<uint32_t>(fleet.pools.size()));
      fleet.pools.push_back(part);
    }
  }
  return fleet;
}

}  // namespace

void PenstockCore::On(const FleetChanged& event, Actions&) {
  fleet_ = options_.gpu_wide ? event.fleet : WithoutSharing(event.fleet);
  for (size_t i = 0; i < fleet_.pools.size(); ++i) {
    if (i >= pools_.size()) {
      PoolState& added = pools_.emplace_back();
      added.risk = RiskControl(fleet_.pools[i].overflow_fatal);
      ledger_.AddPool(fleet_.pools[i].capacity);
    } else if (pools_[i].spec.overflow_fatal != fleet_.pools[i].overflow_fatal) {
      pools_[i].risk = RiskControl(fleet_.pools[i].overflow_fatal);
    }
    pools_[i].spec = fleet_.pools[i];
    pools_[i].replicas.clear();
    ledger_.SetCapacity(PoolId(static_cast<uint32_t>(i)), fleet_.pools[i].capacity);
  }
  replicas_.resize(std::max(replicas_.size(), fleet_.replicas.size()));
  neighbours_.assign(replicas_.size(), {});
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    const ReplicaSpec& spec = fleet_.replicas[i];
    replicas_[i].Configure(spec, fleet_.classes);
    replicas_[i].learns_steps = options_.learned_steps;
    for (const PoolShare& share : spec.pools) {
      pools_[share.pool.value()].replicas.push_back(ReplicaId(static_cast<uint32_t>(i)));
    }
    for (size_t j = 0; j < fleet_.replicas.size(); ++j) {
      const std::vector<uint32_t>& others = fleet_.replicas[j].gpus;
      const bool shares = std::any_of(spec.gpus.begin(), spec.gpus.end(), [&](uint32_t gpu) {
        return std::find(others.begin(), others.end(), gpu) != others.end();
      });
      if (i != j && shares) neighbours_[i].push_back(j);
    }
  }
  while (lanes_.size() < fleet_.models.size()) lanes_.emplace_back(fleet_.classes.size());
  for (Lane& lane : lanes_) lane.AddClasses(fleet_.classes.size());
  servers_.assign(lanes_.size(), {});
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    if (fleet_.replicas[i].removed) continue;
    for (ModelId model : fleet_.replicas[i].models) servers_[model.value()].Add(i, fleet_.replicas[i]);
  }
  // Everybody is tried everywhere again.
  for (const Lane& lane : lanes_) {
    std::vector<RequestState*> waiting;
    lane.All(waiting);
    for (RequestState* request : waiting) request->ForgetTries();
  }
  unfinished_.assign(lanes_.size(), true);
  skipped_.resize(lanes_.size(), 0);
  untried_.resize(lanes_.size(), false);
  opened_.resize(replicas_.size(), false);
  longest_.clear();
  for (const ReplicaState& replica : replicas_) longest_.push_back(LongestPrompt(replica.spec()));
  briefs_.clear();
  for (const ReplicaState& replica : replicas_) briefs_.push_back(BriefOf(replica));
  ReserveTables();
}

void PenstockCore::ReserveTables() {
  int64_t rows = 0;
  for (const ReplicaSpec& replica : fleet_.replicas) rows += replica.removed ? 0 : replica.max_sequences;
  rows = std::min(rows, kMostReserved);
  ledger_.Reserve(static_cast<size_t>(rows));
  // Twice what there can be: a table that is half empty is never cleaned of what was erased.
  requests_.reserve(static_cast<size_t>(2 * (rows + std::min(fleet_.limits.max_queued_requests, kMostReserved))));
}

void PenstockCore::On(const ReplicaHealth& event, Actions&) {
  if (event.replica.value() >= replicas_.size()) return;
  ReplicaState& replica = replicas_[event.replica.value()];
  if (event.health == Health::kDown && replica.health != Health::kDown) replica.down_since = now_;
  replica.health = event.health;
  if (event.health == Health::kDown) replica.prefixes.Clear();
  briefs_[event.replica.value()] = BriefOf(replica);
  for (ModelId model : replica.spec().models) servers_[model.value()].Changed();
  Open(replica);
}

const std::vector<size_t>& PenstockCore::ServersOf(ModelId model) const {
  static const std::vector<size_t> none;
  return model.value() < servers_.size() ? servers_[model.value()].replicas() : none;
}

bool PenstockCore::Placeable(const ReplicaState& replica) const {
  return replica.health == Health::kUp || (replica.health == Health::kProbing && !replica.busy());
}

bool PenstockCore::AnyReplicaUp(ModelId model) const {
  const std::vector<size_t>& servers = ServersOf(model);
  return std::any_of(servers.begin(), servers.end(), [&](size_t index) { return briefs_[index].up; });
}

bool PenstockCore::DownForGood(ModelId model) const {
  const std::vector<size_t>& servers = ServersOf(model);
  return std::none_of(servers.begin(), servers.end(), [&](size_t index) {
    const ReplicaState& replica = replicas_[index];
    if (briefs_[index].up) return true;
    return replica.down_since != Instant() && now_ - replica.down_since < kReturnGrace;
  });
}

Tokens PenstockCore::LeastPrompt(const RequestState& request) {
  const double sure = request.Prompt().AsDouble() * std::max(0.0, 1 - 2 * request.arrived.prompt_sigma);
  return Tokens(static_cast<int64_t>(sure));
}

Tokens PenstockCore::LongestPrompt(const ReplicaSpec& spec) const {
  Tokens longest(std::numeric_limits<int64_t>::max());
  if (spec.max_context > Tokens(0)) longest = spec.max_context - Tokens(1);
  for (const PoolShare& share : spec.pools) {
    longest = std::min(longest, share.footprint.TokensWithin(fleet_.pools[share.pool.value()].capacity));
  }
  return longest;
}

const ModelServers& PenstockCore::FreshServers(ModelId model) {
  ModelServers& servers = servers_[model.value()];
  servers.Refresh(briefs_, now_);
  return servers;
}

Instant PenstockCore::OutageEnd(ModelId model) const {
  Instant newest;
  for (size_t index : ServersOf(model)) {
    if (briefs_[index].up) return Instant::Never();
    newest = std::max(newest, replicas_[index].down_since);
  }
  return newest == Instant() ? now_ : newest + kReturnGrace;
}

}  // namespace penstock
