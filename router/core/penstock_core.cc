#include "router/core/penstock_core.h"

#include <algorithm>
#include <cassert>

namespace penstock {
namespace {

// Pools whose risk control is looked at per event: it works in quarters of seconds.
constexpr size_t kTicksPerEvent = 8;

}  // namespace

PenstockCore::PenstockCore(PenstockOptions options) : options_(std::move(options)) {}
PenstockCore::~PenstockCore() = default;

void PenstockCore::Apply(const Event& event, Instant now, std::vector<Action>& actions) {
  now_ = std::max(now_, now);
  budget_ = kTriesPerEvent;
  ledger_.Settle(now_, freed_);
  OpenPools();
  for (size_t i = 0; i < std::min(kTicksPerEvent, pools_.size()); ++i) {
    if (next_tick_ >= pools_.size()) next_tick_ = 0;
    pools_[next_tick_++].risk.Tick(now_);
  }
  std::visit([&](const auto& concrete) { On(concrete, actions); }, event);
  // An arrival opens nothing, and has its one answer.
  if (!std::holds_alternative<RequestArrived>(event)) PumpOpened(actions);
  ledger_.RememberHeld(now_);
}

RequestState* PenstockCore::Find(RequestId id) {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : found->second.get();
}

const ClassSpec& PenstockCore::GoalsOf(const RequestState& request) const {
  return fleet_.classes[request.arrived.service_class.value()];
}

void PenstockCore::On(const RequestArrived& event, Actions& actions) {
  // What drained memory opened goes to those who wait.
  PumpOpened(actions);
  auto owned = std::make_unique<RequestState>();
  RequestState* request = owned.get();
  request->arrived = event;
  request->arrival = now_;
  request->waits_since = now_;
  request->sequence = next_sequence_++;
  if (shutting_down_) {
    actions.push_back(Refuse{event.request, Refusal::kShuttingDown, Duration::Seconds(1), 0, 0});
    return;
  }
  if (std::optional<Refuse> refusal = CheckFits(*request)) {
    actions.push_back(*refusal);
    return;
  }
  if (DownForGood(event.model)) {
    actions.push_back(Refuse{event.request, Refusal::kNoReplica, RetryAfter(*request), 0, 0});
    return;
  }
  requests_.emplace(event.request, std::move(owned));
  if (!options_.prefix_caches) request->arrived.prefix.clear();
  PrepareForecast(request);
  request->cached = MostCached(*request);
  request->deadline = PlaceInLane(*request);
  const Lane& lane = lanes_[event.model.value()];
  const int64_t position = lane.PositionOf(*request);
  // Nothing else in the lane can have become placeable by this arrival: only the newcomer is tried, in its turn.
  if (position <= kLookPast) {
    request->tried_at = pumps_;
    if (std::optional<Choice> choice = Choose(request)) {
      Dispatch(request, *choice, actions);
      return;
    }
    if (!TriedEverywhere(*request)) unfinished_[event.model.value()] = true;
  } else {
    untried_[event.model.value()] = true;
  }
  Enqueue(request);
  if (queued_requests_ > fleet_.limits.max_queued_requests || queued_bytes_ > fleet_.limits.max_queued_bytes) {
    RefuseWaiting(request, Refusal::kQueueFull, actions);
    return;
  }
  actions.push_back(Park{event.request, request->wait_reason, position});
}

void PenstockCore::On(const FirstToken& event, Actions&) {
  RequestState* request = Find(event.request);
  if (request == nullptr || request->phase != RequestPhase::kPrefilling) return;
  ReplicaState& replica = replicas_[request->replica.value()];
  replica.BecomeDecoding(request);
  Refresh(request, replica);
  Open(replica);
}

void PenstockCore::On(const RequestClosed& event, Actions&) {
  RequestState* request = Find(event.request);
  if (request == nullptr) return;
  if (request->phase == RequestPhase::kWaiting) {
    Dequeue(request);
    LetOthersPast(request->arrived.model);
  } else if (request->phase == RequestPhase::kAborting) {
    ledger_.DrainUntil(request->lease, now_ + replicas_[request->replica.value()].spec().abort_hold);
  } else {
    ReplicaState& replica = replicas_[request->replica.value()];
    LearnFrom(request, event, replica.Generated(*request));
    const bool cancelled = event.outcome == Outcome::kClientGone && replica.spec().abort_hold > Duration();
    LeaveReplica(request);
    if (cancelled) {
      ledger_.Drain(request->lease, now_ + replica.spec().abort_hold);
    } else {
      ledger_.Release(request->lease);
      OpenFormerPools(*request, replica);
    }
    Open(replica);
  }
  requests_.erase(event.request);
}

void PenstockCore::On(const RequestRequeued& event, Actions& actions) {
  RequestState* request = Find(event.request);
  if (request == nullptr || request->phase == RequestPhase::kWaiting) return;
  const Instant free_at = now_ + event.memory_hold;
  if (request->phase == RequestPhase::kAborting) {
    ledger_.DrainUntil(request->lease, free_at);
    request->committed = true;
  } else {
    if (request->phase == RequestPhase::kDecoding || event.generated > Tokens(0)) {
      request->begun = true;
      request->waits_since = now_;
    }
    LeaveReplica(request);
    ledger_.Drain(request->lease, free_at);
  }
  ledger_.Settle(now_, freed_);
  OpenPools();
  ++counters_.requeues;
  ++request->requeues;
  request->kept = event.generated;
  request->pools.clear();
  if (event.avoid_replica && !request->Avoids(request->replica.value())) request->avoid.push_back(request->replica);
  request->wait_reason = WaitReason::kBehindOthers;
  request->ForgetTries();
  PrepareForecast(request);
  Enqueue(request);
  actions.push_back(
      Park{event.request, WaitReason::kBehindOthers, lanes_[request->arrived.model.value()].PositionOf(*request)});
  unfinished_[request->arrived.model.value()] = true;
  Open(replicas_[request->replica.value()]);
}

void PenstockCore::On(const Progress& event, Actions& actions) {
  for (const ReplicaProgress& progress : event.replicas) {
    if (progress.replica.value() >= replicas_.size()) continue;
    ReplicaState& replica = replicas_[progress.replica.value()];
    if (!replica.busy()) continue;
    replica.Advance(progress.steps, std::min(progress.newest_step_end, now_), BusyNeighbours(replica));
  }
  for (const StreamTokens& stream : event.corrections) {
    RequestState* request = Find(stream.request);
    if (request == nullptr || request->phase != RequestPhase::kDecoding) continue;
    const int64_t own = (stream.generated - request->kept).value() / request->arrived.sequences;
    replicas_[request->replica.value()].Correct(request, std::max<int64_t>(0, own));
  }
  const size_t refreshed = std::max<size_t>(1, kRefreshPerEvent / std::max<size_t>(1, event.replicas.size()));
  for (const ReplicaProgress& progress : event.replicas) {
    if (progress.replica.value() >= replicas_.size()) continue;
    ReplicaState& replica = replicas_[progress.replica.value()];
    AdvanceUnobserved(replica);
    RefreshSome(replica, refreshed);
    ProtectFatalPools(replica, actions);
    for (const PoolShare& share : replica.spec().pools) pools_[share.pool.value()].CheckForecast(now_);
    Open(replica);
  }
}

void PenstockCore::On(const EngineReport& event, Actions&) {
  if (event.replica.value() >= replicas_.size()) return;
  ReplicaState& replica = replicas_[event.replica.value()];
  int64_t preempted = 0;
  if (event.preemptions >= 0) {
    // A counter that fell belongs to a restarted engine.
    if (replica.preemptions >= 0 && event.preemptions > replica.preemptions) {
      preempted = event.preemptions - replica.preemptions;
    }
    replica.preemptions = event.preemptions;
    replica.preemptions_seen += preempted;
  }
  replica.used_share = event.kv_used_share;
  for (const PoolShare& share : replica.spec().pools) {
    PoolState& pool = pools_[share.pool.value()];
    pool.risk.Preempted(preempted);
    if (event.kv_used_share < 0) continue;
    UseReport report;
    report.sampled_at = event.sampled_at;
    double used = 0;
    for (ReplicaId member : pool.replicas) used += std::max(0.0, replicas_[member.value()].used_share);
    report.used = Amount(static_cast<int64_t>(used * pool.spec.capacity.AsDouble()));
    report.running = event.running < 0 ? -1 : event.running + std::max(0, event.waiting);
    report.own_running = replica.sequences();
    const double growth = (ledger_.promised(share.pool) - ledger_.held(share.pool)).AsDouble();
    report.mean_remaining = growth / static_cast<double>(std::max<int64_t>(1, replica.sequences()));
    ledger_.Report(share.pool, report);
  }
  Open(replica);
}

void PenstockCore::On(const ShutdownStarted&, Actions&) { shutting_down_ = true; }

void PenstockCore::On(const TimerFired&, Actions& actions) {
  RefuseLate(actions);
  if (unobserved_ == 0) return;
  for (ReplicaState& replica : replicas_) {
    if (replica.unobserved() == 0) continue;
    AdvanceUnobserved(replica);
    RefreshSome(replica, kRefreshPerEvent);
    Open(replica);
  }
}

std::optional<Refuse> PenstockCore::CheckFits(const RequestState& request) const {
  const Tokens least = LeastPrompt(request);
  Tokens context{0};
  Tokens pool_room{0};
  const std::vector<size_t>& servers = ServersOf(request.arrived.model);
  for (size_t index : servers) {
    if (least <= longest_[index]) return std::nullopt;
    const Tokens here = replicas_[index].spec().max_context;
    context = std::max(context, here);
    if (here == Tokens(0) || least < here) pool_room = std::max(pool_room, longest_[index]);
  }
  const RequestId id = request.arrived.request;
  if (servers.empty()) return Refuse{id, Refusal::kUnknownModel, Duration(), 0, 0};
  const int64_t prompt = request.Prompt().value();
  if (pool_room > Tokens(0)) return Refuse{id, Refusal::kNeverFits, Duration(), pool_room.value(), prompt};
  return Refuse{id, Refusal::kContextExceeded, Duration(), context.value(), prompt};
}

std::optional<Instant> PenstockCore::NextDeadline() const {
  Instant next = ledger_.NextSettle();
  if (!checks_.empty()) next = std::min(next, checks_.begin()->first);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].empty()) continue;
    next = std::min(next, unfinished_[i] ? now_ : OutageEnd(ModelId(static_cast<uint32_t>(i))));
  }
  constexpr Duration kForecastTick = Duration::Milliseconds(50);
  if (unobserved_ > 0) next = std::min(next, now_ + kForecastTick);
  if (next >= Instant::Never()) return std::nullopt;
  return next;
}

}  // namespace penstock
