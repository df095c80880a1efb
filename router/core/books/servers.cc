#include "router/core/books/servers.h"

#include <algorithm>
#include <tuple>

#include "router/core/contract/admission_checks.h"

namespace penstock {
namespace {

// Servers of a large fleet that are asked for the most that one has cached.
constexpr size_t kMostAsked = 8;
// A prompt is large from this share of a pool on.
constexpr double kLargeShare = 0.2;

// The least prompt that is large in a pool; kUnboundedTokens where none is.
Tokens LargeFrom(const Footprint& footprint, Amount capacity) {
  int64_t small = -1;
  int64_t large = Footprint::kUnboundedTokens.value();
  while (large - small > 1) {
    const int64_t middle = small + (large - small) / 2;
    const bool is_large = footprint.Expected(static_cast<double>(middle)) > kLargeShare * capacity.AsDouble();
    (is_large ? large : small) = middle;
  }
  return Tokens(large);
}

// The memory of an engine that is down is free, whatever it said last.
void ForgetEngine(FleetState& fleet, ReplicaState& replica, Instant now) {
  replica.prompts.Forget();
  replica.facts.used_share = -1;
  replica.facts.others = 0;
  for (const PoolShare& share : replica.spec().pools) ReportUse(fleet, share.pool, now);
}

}  // namespace

void Servers::Configure(Instant now) {
  const Fleet& spec = fleet_.spec();
  sessions.Configure(spec);
  priced_ = std::all_of(spec.replicas.begin(), spec.replicas.end(),
                        [](const ReplicaSpec& replica) { return replica.removed || replica.price > 0; });
  servers_.assign(std::max(servers_.size(), spec.models.size()), {});
  answer_.blocks = 0;
  unnamed_since_ = Instant();
  for (size_t i = 0; i < spec.replicas.size(); ++i) {
    if (spec.replicas[i].removed || spec.replicas[i].role == EngineRole::kPrefill) continue;
    if (spec.replicas[i].models.empty()) {
      unnamed_since_ = std::max(unnamed_since_, fleet_.replicas()[i].presence.down_since);
    }
    for (ModelId model : spec.replicas[i].models) servers_[model.value()].Add(i, spec.replicas[i]);
  }
  longest_.clear();
  for (const ReplicaState& replica : fleet_.replicas()) longest_.push_back(LongestPrompt(spec, replica.spec()));
  FindLongPrompts();
  briefs_.resize(fleet_.replicas().size());
  for (size_t i = 0; i < briefs_.size(); ++i) UpdateBrief(i, now);
}

void Servers::FindLongPrompts() {
  large_from_.assign(servers_.size(), Footprint::kUnboundedTokens);
  shortest_.assign(servers_.size(), Footprint::kUnboundedTokens);
  // Once per replica: many models may share it.
  std::vector<Tokens> large(longest_.size(), Footprint::kUnboundedTokens);
  for (size_t index = 0; index < large.size(); ++index) {
    for (const PoolShare& share : fleet_.replicas()[index].spec().pools) {
      const Tokens from = LargeFrom(share.footprint, fleet_.pool(share.pool).spec().capacity);
      large[index] = std::min(large[index], from);
    }
  }
  for (size_t model = 0; model < servers_.size(); ++model) {
    for (const size_t index : servers_[model].replicas()) {
      shortest_[model] = std::min(shortest_[model], longest_[index]);
      large_from_[model] = std::min(large_from_[model], large[index]);
    }
  }
}

void Servers::SetHealth(ReplicaId id, Health health, Instant now) {
  ReplicaState& replica = fleet_.replica(id);
  if (health == Health::kDown && replica.health != Health::kDown) replica.presence.down_since = now;
  if (health == Health::kProbing && replica.health != Health::kProbing) replica.probation.Begin();
  replica.health = health;
  if (health == Health::kDown) ForgetEngine(fleet_, replica, now);
  UpdateBrief(id.value(), now);
  for (ModelId model : replica.spec().models) servers_[model.value()].Changed();
}

double Servers::FullnessOf(const ReplicaState& replica, Instant now) const {
  constexpr double kClosed = 1e6;
  const ReplicaSpec& spec = replica.spec();
  if (!replica.Placeable() || replica.sequences() >= spec.max_sequences) return kClosed;
  if (spec.pools.empty()) return static_cast<double>(replica.sequences()) / std::max(1, spec.max_sequences);
  double fullest = 0;
  for (const PoolShare& share : spec.pools) {
    const PoolState& pool = fleet_.pool(share.pool);
    const double free = fleet_.ledger().Available(share.pool).AsDouble() - pool.growth().Present(now);
    fullest = std::max(fullest, 1 - free / std::max(1.0, pool.spec().capacity.AsDouble()));
  }
  return fullest;
}

void Servers::UpdateBrief(size_t position, Instant now) {
  const ReplicaState& replica = fleet_.replicas()[position];
  const StepModel& model = replica.steps_model();
  const Presence& presence = replica.presence;
  briefs_[position] = {FullnessOf(replica, now),
                       model.Factor(0),
                       model.Factor(fleet_.BusyNeighbours(replica)),
                       presence.CountsAsUp(replica.health),
                       replica.host_time.seconds(),
                       presence.Takes(),
                       0,
                       {}};
  if (presence.Takes()) return;
  if (presence.residency == Residency::kWaking)
    briefs_[position].awake_at = presence.awake_at;
  else
    briefs_[position].wake = presence.wake.seconds();
}

void Servers::ResidencyChanged(size_t position, Instant now) {
  ReplicaState& replica = fleet_.replicas()[position];
  if (!replica.presence.awake()) replica.prompts.Forget();
  UpdateBrief(position, now);
  for (ModelId model : replica.spec().models) servers_[model.value()].Changed();
}

void Servers::UpdateFullness(const ReplicaState& replica, Instant now) {
  for (const PoolShare& share : replica.spec().pools) {
    for (ReplicaId member : fleet_.pool(share.pool).replicas()) {
      briefs_[member.value()].fullness = FullnessOf(fleet_.replica(member), now);
    }
  }
}

bool Servers::AnyUp(ModelId model) const {
  const std::vector<size_t>& servers = Of(model);
  return std::any_of(servers.begin(), servers.end(), [&](size_t index) { return briefs_[index].up; });
}

bool Servers::AnyAwake(ModelId model) const {
  const std::vector<size_t>& servers = Of(model);
  return std::any_of(servers.begin(), servers.end(),
                     [&](size_t index) { return briefs_[index].up && briefs_[index].takes; });
}

bool Servers::DownForGood(ModelId model, Instant now) const {
  if (IsAwaited(unnamed_since_, now)) return false;
  const std::vector<size_t>& servers = Of(model);
  return std::none_of(servers.begin(), servers.end(), [&](size_t index) {
    return briefs_[index].up || IsAwaited(fleet_.replicas()[index].presence.down_since, now);
  });
}

bool Servers::HomeDownForGood(const RequestArrived& arrived, Instant now) const {
  const std::vector<size_t>& servers = Of(arrived.model);
  const size_t home = arrived.home->value();
  if (!std::binary_search(servers.begin(), servers.end(), home)) return true;
  return !briefs_[home].up && !IsAwaited(fleet_.replicas()[home].presence.down_since, now);
}

Instant Servers::OutageEnd(ModelId model, Instant now) const {
  Instant newest = unnamed_since_;
  for (size_t index : Of(model)) {
    if (briefs_[index].up) return Instant::Never();
    newest = std::max(newest, fleet_.replicas()[index].presence.down_since);
  }
  return newest == Instant() ? now : newest + kOutageGrace;
}

Tokens Servers::LengthNeeded(const RequestState& request) const {
  const Tokens least = SurePrompt(request.Prompt(), request.arrived.prompt_sigma);
  const std::vector<size_t>& servers = Of(request.arrived.model);
  const bool fits = std::any_of(servers.begin(), servers.end(), [&](size_t index) {
    return least <= LongestPossible(fleet_.replicas()[index].spec(), longest_[index]);
  });
  return fits ? least : Tokens(0);
}

bool Servers::OnlySomeTake(const RequestState& request) const {
  const ModelId model = request.arrived.model;
  if (request.arrived.home) return Of(model).size() > 1;
  return model.value() < shortest_.size() && LengthNeeded(request) > shortest_[model.value()];
}

Tokens Servers::MostCached(const RequestState& request) const {
  if (request.arrived.prefix.empty()) return Tokens(0);
  const std::vector<size_t>& servers = Of(request.arrived.model);
  absl::InlinedVector<size_t, kMostAsked> some;
  std::span<const size_t> among = servers;
  if (servers.size() > kSmallFleet) {
    Holders deepest;
    const Elsewhere elsewhere = DeepestHolders(request, deepest);
    // Where many hold a block, some of them tell enough. The deepest holders come first.
    for (size_t i = 0; i < deepest.size() && i < kMostAsked; ++i) some.push_back(deepest[i].server);
    for (size_t i = 0; i < elsewhere.group.size() && some.size() < kMostAsked && i < kSmallFleet; ++i) {
      if (std::binary_search(servers.begin(), servers.end(), elsewhere.group[i])) some.push_back(elsewhere.group[i]);
    }
    among = some;
  }
  Tokens most{0};
  for (size_t index : among) {
    most = std::max(most, fleet_.replicas()[index].HopeFor(request).expected);
  }
  return most;
}

Servers::Elsewhere Servers::DeepestHolders(const RequestState& request, Holders& out) const {
  const RequestArrived& arrived = request.arrived;
  out.clear();
  if (arrived.prefix.empty()) return {};
  const uint64_t changes = fleet_.holders().changes();
  const size_t blocks = arrived.prefix.size();
  const uint64_t last = arrived.prefix.back();
  if (std::tie(answer_.changes, answer_.model, answer_.prompt, answer_.blocks, answer_.last) !=
      std::tie(changes, arrived.model, arrived.prompt, blocks, last)) {
    std::tie(answer_.changes, answer_.model, answer_.prompt, answer_.blocks, answer_.last) =
        std::tie(changes, arrived.model, arrived.prompt, blocks, last);
    answer_.deepest.clear();
    answer_.elsewhere = LookForHolders(request, answer_.deepest);
  }
  out = answer_.deepest;
  return answer_.elsewhere;
}

Servers::Elsewhere Servers::LookForHolders(const RequestState& request, Holders& out) const {
  const std::vector<uint64_t>& prefix = request.arrived.prefix;
  const std::vector<size_t>& servers = Of(request.arrived.model);
  const auto tokens = [&](size_t blocks) {
    return request.PrefixTokens(static_cast<int64_t>(std::min(blocks, prefix.size())));
  };
  for (size_t landmarks = fleet_.holders().Landmarks(prefix); landmarks > 0; --landmarks) {
    const size_t position = (landmarks - 1) * PrefixHolders::kLandmark;
    const std::span<const uint32_t> group = fleet_.holders().Of(prefix[position]);
    const size_t before = out.size();
    // Other models of the same engines may list many more: a group is not read further than it could matter.
    const bool small = group.size() <= 2 * kSmallFleet;
    const Tokens most = tokens(landmarks * PrefixHolders::kLandmark);
    for (size_t i = 0; small && i < group.size(); ++i) {
      const auto deeper = out.begin() + static_cast<std::ptrdiff_t>(before);
      const bool known =
          std::any_of(out.begin(), deeper, [&](const Holder& holder) { return holder.server == group[i]; });
      if (!known && std::binary_search(servers.begin(), servers.end(), group[i])) out.push_back({group[i], most});
    }
    if (!small || out.size() > kSmallFleet) {
      out.resize(before);
      return {most, group};
    }
  }
  return {};
}

const ModelServers& Servers::Fresh(ModelId model, Instant now) {
  ModelServers& servers = servers_[model.value()];
  servers.Refresh(briefs_, now);
  return servers;
}

double Servers::ExpectedWork(const RequestState& request, double output, Instant now) {
  const PrefillWork prefill = request.PrefillAfter(request.waiting.cached);
  double least = 0;  // Of decode replicas, where others compute the prompt.
  for (const ModelServers::Kind& kind : Fresh(request.arrived.model, now).kinds()) {
    if (kind.idle_factor <= 0) continue;
    const double here = kind.Work(request.Prompt(), prefill, output, request.arrived.sequences);
    least = least > 0 ? std::min(least, here) : here;
  }
  return least > 0 ? least + request.stage.least : least;
}

}  // namespace penstock
