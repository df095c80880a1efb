#include "router/policies/kit/rival_books.h"

#include <algorithm>
#include <utility>

#include "router/core/contract/admission_checks.h"
#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

bool IsOpen(const RivalBooks::Replica& replica) { return IsPlaceable(replica.health, replica.running > 0); }

}  // namespace

void RivalBooks::Configure(const Fleet& fleet) {
  const Fleet before = std::exchange(fleet_, fleet);
  replicas_.resize(fleet_.replicas.size());
  held_.resize(fleet_.pools.size());
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (IsVacant(fleet_.replicas[i]) && replicas_[i].running == 0) replicas_[i] = Replica();
    if (Joins(before, fleet_, i) && replicas_[i].health == Health::kDown) replicas_[i].down_since = now_;
  }
  longest_.clear();
  for (const ReplicaSpec& replica : fleet_.replicas) longest_.push_back(LongestPrompt(fleet_, replica));
  servers_.assign(fleet_.models.size(), {});
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    for (ModelId model : fleet_.replicas[i].models) {
      if (model.value() >= servers_.size() || !Serves(fleet_.replicas[i], model)) continue;
      std::vector<size_t>& servers = servers_[model.value()];
      if (servers.empty() || servers.back() != i) servers.push_back(i);
    }
  }
}

const std::vector<size_t>& RivalBooks::ServersOf(ModelId model) const {
  static const std::vector<size_t> none;
  return model.value() < servers_.size() ? servers_[model.value()] : none;
}

void RivalBooks::SetHealth(const ReplicaHealth& event) {
  if (event.replica.value() >= replicas_.size()) return;
  Replica& replica = replicas_[event.replica.value()];
  if (event.health == Health::kDown && replica.health != Health::kDown) replica.down_since = now_;
  replica.health = event.health;
}

bool RivalBooks::TakeReport(const EngineReport& report) {
  if (report.replica.value() >= replicas_.size()) return false;
  Replica& replica = replicas_[report.replica.value()];
  // A lower counter shows that the engine restarted.
  if (replica.report && report.preemptions >= 0 && replica.report->preemptions >= 0) {
    const int64_t before = replica.report->preemptions;
    replica.preemptions += report.preemptions >= before ? report.preemptions - before : report.preemptions;
  }
  replica.report = report;
  return true;
}

bool RivalBooks::AddSteps(const ReplicaProgress& progress) {
  if (progress.replica.value() >= replicas_.size()) return false;
  replicas_[progress.replica.value()].steps += progress.steps;
  return true;
}

void RivalBooks::Correct(const StreamTokens& stream) {
  const auto found = live_.find(stream.request);
  if (found == live_.end()) return;
  Live& live = found->second;
  const int64_t own = (stream.generated - live.earlier_output).value() / live.request.sequences;
  live.base_steps = replicas_[live.replica.value()].steps - own;
}

const RivalBooks::Live& RivalBooks::Start(const RequestArrived& request, Instant arrived, ReplicaId id,
                                          Tokens earlier_output) {
  Replica& replica = replicas_[id.value()];
  Live live{request,       arrived,       id, LeaseId(next_lease_++), true, {}, now_, replica.running,
            replica.steps, earlier_output};
  for (const PoolShare& share : spec(id).pools) {
    const Amount amount = share.footprint.Of(request.prompt);
    held_[share.pool.value()] += amount;
    live.held.emplace_back(share.pool, amount);
  }
  ++replica.running;
  ++replica.prefilling;
  return live_.emplace(request.request, std::move(live)).first->second;
}

const RivalBooks::Live* RivalBooks::TakeFirstToken(RequestId request) {
  const auto found = live_.find(request);
  if (found == live_.end() || !found->second.prefilling) return nullptr;
  Live& live = found->second;
  Replica& replica = replicas_[live.replica.value()];
  live.prefilling = false;
  live.base_steps = replica.steps;
  --replica.prefilling;
  return &live;
}

std::optional<RivalBooks::Live> RivalBooks::End(RequestId request) {
  const auto found = live_.find(request);
  if (found == live_.end()) return std::nullopt;
  Live live = std::move(found->second);
  live_.erase(found);
  for (const auto& [pool, amount] : live.held) held_[pool.value()] -= amount;
  Replica& replica = replicas_[live.replica.value()];
  --replica.running;
  if (live.prefilling) --replica.prefilling;
  return live;
}

bool RivalBooks::Serves(const ReplicaSpec& spec, ModelId model) {
  // Rivals know no pairs: the decode engines compute all prompts.
  if (spec.role == EngineRole::kPrefill) return false;
  return !spec.removed && std::find(spec.models.begin(), spec.models.end(), model) != spec.models.end();
}

const RivalBooks::Live* RivalBooks::Find(RequestId request) const {
  const auto found = live_.find(request);
  return found == live_.end() ? nullptr : &found->second;
}

int64_t RivalBooks::Generated(const Live& live) const {
  if (live.prefilling && live.request.observed) return 0;
  return std::max<int64_t>(0, replicas_[live.replica.value()].steps - live.base_steps);
}

std::vector<ReplicaId> RivalBooks::Candidates(const RequestArrived& request, std::optional<ReplicaId> avoid) const {
  if (request.home && !(Knows(*request.home) && IsOpen(replica(*request.home)))) return {};
  std::vector<ReplicaId> candidates = Placeable(request.model, SurePrompt(request.prompt, request.prompt_sigma));
  // A request that outgrew every replica after its arrival may go to any: its engine ends it at its limit.
  if (candidates.empty() && CheckFits(request)) candidates = Placeable(request.model, Tokens(0));
  if (request.home) std::erase_if(candidates, [&](ReplicaId each) { return each != *request.home; });
  if (avoid && candidates.size() > 1) std::erase(candidates, *avoid);
  return candidates;
}

std::vector<ReplicaId> RivalBooks::Placeable(ModelId model, Tokens length) const {
  std::vector<ReplicaId> found;
  for (const size_t i : ServersOf(model)) {
    if (IsOpen(replicas_[i]) && length <= longest_[i]) found.emplace_back(static_cast<uint32_t>(i));
  }
  return found;
}

std::optional<Refuse> RivalBooks::CheckFits(const RequestArrived& request) const {
  FitCheck check(request, request.prompt);
  for (const size_t i : ServersOf(request.model)) check.Add(fleet_.replicas[i], longest_[i]);
  return check.Finding();
}

Instant RivalBooks::OutageEnd(ModelId model, std::optional<ReplicaId> home) const {
  Instant end = now_;
  for (const size_t i : ServersOf(model)) {
    if (home && home->value() != i) continue;
    if (IsUp(replicas_[i].health)) return Instant::Never();
    if (IsAwaited(replicas_[i].down_since, now_)) end = std::max(end, replicas_[i].down_since + kOutageGrace);
  }
  return end;
}

void RivalBooks::ShowUnused(MemoryWaits& waits) const {
  std::vector<bool> wanted(fleet_.pools.size(), false);
  std::vector<Amount> used = held_;
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    const ReplicaSpec& spec = fleet_.replicas[i];
    const bool serves =
        std::any_of(waits.models.begin(), waits.models.end(), [&](ModelId model) { return Serves(spec, model); });
    for (const PoolShare& share : spec.pools) {
      const size_t pool = share.pool.value();
      if (serves) wanted[pool] = true;
      const double reported = replicas_[i].report ? replicas_[i].report->kv_used_share : 0;
      used[pool] =
          std::max(used[pool], Amount(static_cast<int64_t>(reported * fleet_.pools[pool].capacity.AsDouble())));
    }
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const Amount unused = std::max(Amount(0), fleet_.pools[i].capacity - used[i]);
    waits.pools.push_back({PoolId(static_cast<uint32_t>(i)), unused});
  }
}

void RivalBooks::Show(Instant now, CoreView& view) const {
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
    const Replica& state = replicas_[i];
    ReplicaView replica;
    replica.name = spec.name;
    if (!spec.models.empty()) replica.model = fleet_.models[spec.models.front().value()].name;
    replica.role = spec.role;
    replica.health = state.health;
    replica.running = state.running;
    replica.prefilling = state.prefilling;
    replica.tokens_per_s = 1000 / spec.prior.DecodeMs(static_cast<double>(state.running), 0);
    replica.preemptions = state.preemptions;
    view.replicas.push_back(std::move(replica));
    if (state.report) ShowReport(spec, *state.report, now, view);
  }
}

void RivalBooks::ShowReport(const ReplicaSpec& spec, const EngineReport& report, Instant now, CoreView& view) {
  for (const PoolShare& share : spec.pools) {
    PoolView& pool = view.pools[share.pool.value()];
    pool.report_age = std::min(pool.report_age, now - report.sampled_at);
    if (report.kv_used_share < 0) continue;
    const double used = report.kv_used_share * pool.capacity.AsDouble();
    pool.reported = std::max(pool.reported, Amount(static_cast<int64_t>(used)));
  }
}

Duration IdleFirstToken(const ReplicaSpec& spec, Tokens prompt) {
  return Duration::Seconds(spec.prior.StepMs(0, 0, PrefillOf(Tokens(0), prompt)) * 1e-3);
}

}  // namespace penstock
