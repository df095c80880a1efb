#include "router/policies/kit/rival_core.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace penstock {

void RivalCore::Apply(const Event& event, Instant now, std::vector<Action>& actions) {
  struct Visitor {
    RivalCore& core;
    Instant now;
    std::vector<Action>& actions;
    void operator()(const RequestArrived& e) { core.On(e, now, actions); }
    void operator()(const FirstToken& e) { core.On(e); }
    void operator()(const RequestClosed& e) { core.On(e); }
    void operator()(const RequestRequeued& e) { core.On(e); }
    void operator()(const Progress& e) { core.On(e); }
    void operator()(const EngineReport& e) { core.On(e); }
    void operator()(const ReplicaHealth& e) { core.On(e); }
    void operator()(const FleetChanged& e) { core.On(e); }
    void operator()(const ShutdownStarted&) { core.draining_ = true; }
    void operator()(const TimerFired&) {}
  };
  now_ = now;
  std::visit(Visitor{*this, now, actions}, event);
  if (std::holds_alternative<RequestArrived>(event)) return;
  const bool of_tokens = std::holds_alternative<Progress>(event) || std::holds_alternative<FirstToken>(event);
  if (of_tokens && !RetriesOnTokens()) {
    ExpireBefore(now + Duration::Nanoseconds(1), now, actions);
  } else {
    Settle(now, actions);
  }
}

std::optional<Instant> RivalCore::NextDeadline() const {
  return expiry_.empty() ? std::nullopt : std::optional<Instant>(expiry_.begin()->first);
}

// Every arrival is answered within its own event: after the queue was tried, what still waits is parked.
void RivalCore::On(const RequestArrived& event, Instant now, std::vector<Action>& actions) {
  if (waiting_.contains(event.request) || live_.contains(event.request)) return;
  if (const std::optional<Refuse> refusal = RefusalAtArrival(event)) {
    actions.push_back(*refusal);
    Settle(now, actions);
    return;
  }
  Waiting waiting{event, now, Instant::Never()};
  SetExpiry(waiting);
  Enqueue(std::move(waiting));
  Settle(now, actions);
  const auto found = waiting_.find(event.request);
  if (found == waiting_.end()) return;
  const CoreLimits& limits = fleet_.limits;
  if (static_cast<int64_t>(waiting_.size()) > limits.max_queued_requests || queued_bytes_ > limits.max_queued_bytes) {
    Refuse refusal = MakeRefusal(event, Refusal::kQueueFull, now);
    refusal.bound = limits.max_queued_requests;
    refusal.value = static_cast<int64_t>(waiting_.size());
    Dequeue(event.request);
    actions.push_back(refusal);
    return;
  }
  const auto& ahead = lanes_[event.model].by_class[event.service_class];
  actions.push_back(Park{event.request, found->second.reason, static_cast<int64_t>(ahead.size()) - 1});
}

void RivalCore::On(const FirstToken& event) {
  const auto found = live_.find(event.request);
  if (found == live_.end() || !found->second.prefilling) return;
  Live& live = found->second;
  ReplicaState& state = replicas_[live.replica.value()];
  live.prefilling = false;
  live.base_steps = state.steps;
  --state.prefilling;
  OnFirstToken(live);
}

void RivalCore::On(const RequestClosed& event) {
  if (waiting_.contains(event.request)) {
    Dequeue(event.request);
  } else {
    EndLease(event.request, &event);
  }
}

// `generated` counts all forwards; what the earlier ones made is in the prompt already.
void RivalCore::On(const RequestRequeued& event) {
  const auto found = live_.find(event.request);
  if (found == live_.end()) return;
  Waiting waiting{found->second.request, found->second.arrived, Instant::Never()};
  if (event.avoid_replica) waiting.avoid = found->second.replica;
  const Tokens added = event.generated - found->second.kept;
  waiting.kept = event.generated;
  waiting.request.prompt += added;
  if (waiting.request.max_output > Tokens(0)) {
    waiting.request.max_output = std::max(Tokens(1), waiting.request.max_output - added);
  }
  EndLease(event.request, nullptr);
  ++requeues_;
  SetExpiry(waiting);
  Enqueue(std::move(waiting));
}

void RivalCore::On(const Progress& event) {
  for (const ReplicaProgress& progress : event.replicas) {
    if (progress.replica.value() >= replicas_.size()) continue;
    replicas_[progress.replica.value()].steps += progress.steps;
    OnSteps(progress.replica, progress.steps);
  }
  for (const StreamTokens& stream : event.corrections) {
    const auto found = live_.find(stream.request);
    if (found == live_.end()) continue;
    Live& live = found->second;
    const int64_t own = (stream.generated - live.kept).value() / live.request.sequences;
    live.base_steps = replicas_[live.replica.value()].steps - own;
  }
}

void RivalCore::On(const EngineReport& event) {
  if (event.replica.value() >= replicas_.size()) return;
  ReplicaState& state = replicas_[event.replica.value()];
  // A counter that went back is an engine that restarted.
  if (state.report && event.preemptions >= 0 && state.report->preemptions >= 0) {
    const int64_t before = state.report->preemptions;
    state.preemptions += event.preemptions >= before ? event.preemptions - before : event.preemptions;
  }
  state.report = event;
  OnReport(event.replica);
}

void RivalCore::On(const ReplicaHealth& event) {
  if (event.replica.value() < replicas_.size()) replicas_[event.replica.value()].health = event.health;
}

void RivalCore::On(const FleetChanged& event) {
  fleet_ = event.fleet;
  replicas_.resize(fleet_.replicas.size());
  held_.resize(fleet_.pools.size());
  expiry_.clear();
  // The order of this walk does not matter: it fills an ordered set.
  for (auto& [id, waiting] : waiting_) {
    SetExpiry(waiting);
    expiry_.emplace(waiting.expires, id);
  }
  OnFleet();
}

void RivalCore::Settle(Instant now, std::vector<Action>& actions) {
  ExpireBefore(now, now, actions);
  std::vector<ModelId> models;
  for (const auto& [model, lane] : lanes_) {
    if (!lane.order.empty()) models.push_back(model);
  }
  for (ModelId model : models) PumpLane(model, now, actions);
  ExpireBefore(now + Duration::Nanoseconds(1), now, actions);
}

void RivalCore::ExpireBefore(Instant limit, Instant now, std::vector<Action>& actions) {
  while (!expiry_.empty() && expiry_.begin()->first < limit) {
    const RequestId request = expiry_.begin()->second;
    const Waiting& waiting = waiting_.at(request);
    actions.push_back(MakeRefusal(waiting.request, waiting.expires_with, now));
    Dequeue(request);
  }
}

void RivalCore::PumpLane(ModelId model, Instant now, std::vector<Action>& actions) {
  Lane& lane = lanes_[model];
  while (!lane.order.empty()) {
    Waiting& head = waiting_.at(lane.order.begin()->second.second);
    const std::vector<ReplicaId> candidates = Candidates(head);
    const Choice choice = candidates.empty() ? Choice(WaitReason::kNoReplicaUp) : Choose(head.request, candidates);
    if (const WaitReason* reason = std::get_if<WaitReason>(&choice)) {
      head.reason = *reason;
      return;
    }
    Dispatch(Dequeue(head.request.request), std::get<ReplicaId>(choice), now, actions);
  }
}

void RivalCore::Dispatch(const Waiting& waiting, ReplicaId replica, Instant now, std::vector<Action>& actions) {
  const ReplicaSpec& spec = fleet_.replicas[replica.value()];
  ReplicaState& state = replicas_[replica.value()];
  Live live{waiting.request, waiting.arrived, replica,     LeaseId(next_lease_++), true, {}, now,
            state.running,   state.steps,     waiting.kept};
  for (const PoolShare& share : spec.pools) {
    const Amount amount = share.footprint.Of(waiting.request.prompt);
    held_[share.pool.value()] += amount;
    live.held.emplace_back(share.pool, amount);
  }
  ++state.running;
  ++state.prefilling;
  forward_rate_ =
      forward_rate_ * std::exp(-(now - forward_rate_at_).seconds() / kForwardRateSeconds) + 1 / kForwardRateSeconds;
  forward_rate_at_ = now;
  actions.push_back(Forward{waiting.request.request, replica, live.lease, now - waiting.arrived,
                            fleet_.limits.dispatch_delay + IdleFirstToken(spec, waiting.request.prompt),
                            state.report ? std::max(0.0, state.report->kv_used_share) : 0});
  const auto placed = live_.emplace(waiting.request.request, std::move(live)).first;
  OnDispatched(placed->second);
}

void RivalCore::Enqueue(Waiting waiting) {
  waiting.order = OrderOf(waiting.request);
  const RequestId request = waiting.request.request;
  Lane& lane = lanes_[waiting.request.model];
  lane.order.insert(waiting.Key());
  lane.by_class[waiting.request.service_class].insert(waiting.ByArrival());
  expiry_.emplace(waiting.expires, request);
  queued_bytes_ += waiting.request.body;
  waiting_.emplace(request, std::move(waiting));
}

RivalCore::Waiting RivalCore::Dequeue(RequestId request) {
  const auto found = waiting_.find(request);
  assert(found != waiting_.end());
  Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  Lane& lane = lanes_[waiting.request.model];
  lane.order.erase(waiting.Key());
  lane.by_class[waiting.request.service_class].erase(waiting.ByArrival());
  expiry_.erase({waiting.expires, request});
  queued_bytes_ -= waiting.request.body;
  return waiting;
}

void RivalCore::EndLease(RequestId request, const RequestClosed* closed) {
  const auto found = live_.find(request);
  if (found == live_.end()) return;
  const Live live = std::move(found->second);
  live_.erase(found);
  for (const auto& [pool, amount] : live.held) held_[pool.value()] -= amount;
  ReplicaState& state = replicas_[live.replica.value()];
  --state.running;
  if (live.prefilling) --state.prefilling;
  OnEnded(live, closed);
}

const RivalCore::Live* RivalCore::FindLive(RequestId request) const {
  const auto found = live_.find(request);
  return found == live_.end() ? nullptr : &found->second;
}

int64_t RivalCore::Generated(const Live& live) const {
  if (live.prefilling && live.request.observed) return 0;
  return std::max<int64_t>(0, replicas_[live.replica.value()].steps - live.base_steps);
}

std::optional<WaitView> RivalCore::WaitOf(RequestId request) const {
  const auto found = waiting_.find(request);
  if (found == waiting_.end()) return std::nullopt;
  const std::set<QueueKey>& order = lanes_.at(found->second.request.model).order;
  return WaitView{found->second.reason, std::distance(order.begin(), order.find(found->second.Key()))};
}

}  // namespace penstock
