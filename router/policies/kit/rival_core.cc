#include "router/policies/kit/rival_core.h"

#include <algorithm>
#include <cassert>

#include "router/core/contract/admission_checks.h"
#include "router/core/contract/vacancy.h"

namespace penstock {

RivalCore::RivalCore(std::unique_ptr<RivalRule> rule) : rule_(std::move(rule)) { rule_->Attach(books_); }

void RivalCore::Apply(const Event& event, Instant now, std::vector<Action>& actions) {
  struct Visitor {
    RivalCore& core;
    Actions& actions;
    void operator()(const RequestArrived& e) { core.On(e, actions); }
    void operator()(const FirstToken& e) { core.On(e); }
    void operator()(const RequestClosed& e) { core.On(e); }
    void operator()(const RequestRequeued& e) { core.On(e); }
    void operator()(const Progress& e) { core.On(e); }
    void operator()(const EngineReport& e) { core.On(e); }
    void operator()(const ReplicaHealth& e) { core.books_.SetHealth(e); }
    void operator()(const FleetChanged& e) { core.On(e); }
    void operator()(const ShutdownStarted&) { core.draining_ = true; }
    void operator()(const TimerFired&) {}
    void operator()(const ReplicaResidency&) {}
    void operator()(const ElasticReport&) {}
    void operator()(const AdapterResidency&) {}
    void operator()(const NodeReport&) {}
    void operator()(const PrefillEnded&) {}
    void operator()(const CacheReport&) {}
    void operator()(const AnswerFixed&) {}
  };
  books_.SetTime(now);
  std::visit(Visitor{*this, actions}, event);
  if (std::holds_alternative<RequestArrived>(event)) return;
  const bool of_tokens = std::holds_alternative<Progress>(event) || std::holds_alternative<FirstToken>(event);
  if (of_tokens && !rule_->RetriesOnTokens()) {
    ExpireBefore(now + Duration::Nanoseconds(1), actions);
  } else {
    Settle(actions);
  }
}

std::optional<Instant> RivalCore::NextDeadline() const {
  const auto expiry = queue_.FirstExpiry();
  if (!expiry) return std::nullopt;
  Instant next = expiry->first;
  for (ModelId model : queue_.Models()) {
    next = std::min(next, books_.OutageEnd(model));
    for (const auto& [home, first] : queue_.Homes(model)) next = std::min(next, books_.OutageEnd(model, home));
  }
  return next;
}

MemoryWaits RivalCore::FindMemoryWaits(Instant) const {
  MemoryWaits waits;
  waits.models = queue_.ModelsWaitingFor(WaitReason::kMemory);
  if (!waits.models.empty()) books_.ShowUnused(waits);
  return waits;
}

CoreView RivalCore::View(Instant now) const {
  CoreView view;
  books_.Show(now, view);
  queue_.Show(books_.fleet(), now, view);
  view.counters.requeues = requeues_;
  return view;
}

std::optional<Forward> RivalCore::Follow(const FollowedRequest& followed, Instant now) {
  const RequestId id = followed.request.request;
  Withdraw(id, now);
  if (!books_.Knows(followed.replica)) return std::nullopt;
  Waiting waiting;
  waiting.request = followed.request;
  waiting.request.prompt += followed.generated;
  waiting.arrived = followed.arrived;
  waiting.earlier_output = followed.generated;
  Actions actions;
  Dispatch(waiting, followed.replica, actions);
  if (followed.begun) On(FirstToken{id});
  return std::get<Forward>(actions.back());
}

void RivalCore::Withdraw(RequestId request, Instant now) {
  books_.SetTime(now);
  if (queue_.Contains(request)) {
    queue_.Remove(request);
  } else {
    EndLease(request, nullptr);
  }
}

// The event of an arrival answers it: a request that still waits after a try of the queue is parked.
void RivalCore::On(const RequestArrived& event, Actions& actions) {
  if (queue_.Contains(event.request) || books_.Find(event.request) != nullptr) return;
  if (const std::optional<Refuse> refusal = RefusalAtArrival(event)) {
    actions.push_back(*refusal);
    Settle(actions);
    return;
  }
  Waiting arrived;
  arrived.request = event;
  arrived.arrived = books_.now();
  Enqueue(std::move(arrived));
  Settle(actions);
  const Waiting* waiting = queue_.Find(event.request);
  if (waiting == nullptr) return;
  const CoreLimits& limits = books_.fleet().limits;
  if (!QueueIsFull(limits, queue_.requests(), queue_.bytes())) {
    actions.push_back(Park{event.request, waiting->reason, queue_.OthersOfClass(*waiting)});
    return;
  }
  actions.push_back(QueueFullRefusal(event.request, limits, queue_.requests(), queue_.RetryAfter(books_.now())));
  queue_.Remove(event.request);
}

void RivalCore::On(const FirstToken& event) {
  if (const RivalBooks::Live* live = books_.TakeFirstToken(event.request)) rule_->OnFirstToken(*live);
}

void RivalCore::On(const RequestClosed& event) {
  if (queue_.Contains(event.request)) {
    queue_.Remove(event.request);
  } else {
    EndLease(event.request, &event);
  }
}

// `generated` counts all forwards; the output of earlier forwards is part of the prompt already.
void RivalCore::On(const RequestRequeued& event) {
  const RivalBooks::Live* live = books_.Find(event.request);
  if (live == nullptr) return;
  Waiting waiting;
  waiting.request = live->request;
  waiting.arrived = live->arrived;
  if (event.avoid_replica) waiting.avoid = live->replica;
  const Tokens added = event.generated - live->earlier_output;
  waiting.earlier_output = event.generated;
  waiting.request.prompt += added;
  if (waiting.request.max_output > Tokens(0)) {
    waiting.request.max_output = std::max(Tokens(1), waiting.request.max_output - added);
  }
  EndLease(event.request, nullptr);
  ++requeues_;
  Enqueue(std::move(waiting));
}

void RivalCore::On(const Progress& event) {
  for (const ReplicaProgress& progress : event.replicas) {
    if (books_.AddSteps(progress)) rule_->OnSteps(progress.replica, progress.steps);
  }
  for (const StreamTokens& stream : event.corrections) books_.Correct(stream);
}

void RivalCore::On(const EngineReport& event) {
  if (books_.TakeReport(event)) rule_->OnReport(event.replica);
}

void RivalCore::On(const FleetChanged& event) {
  books_.Configure(event.fleet);
  queue_.Reschedule([this](Waiting& waiting) { SetExpiry(waiting); });
  rule_->OnFleet();
  for (uint32_t i = 0; i < event.fleet.models.size(); ++i) {
    if (IsVacant(event.fleet.models[i])) rule_->Forget(ModelId(i));
  }
}

void RivalCore::Settle(Actions& actions) {
  const Instant now = books_.now();
  ExpireBefore(now, actions);
  for (ModelId model : queue_.Models()) {
    RefuseLost(model, actions);
    PumpLane(model, actions);
  }
  ExpireBefore(now + Duration::Nanoseconds(1), actions);
}

void RivalCore::ExpireBefore(Instant limit, Actions& actions) {
  for (auto first = queue_.FirstExpiry(); first && first->first < limit; first = queue_.FirstExpiry()) {
    const Refusal reason = queue_.Find(first->second)->expires_with;
    actions.push_back(Refuse{first->second, reason, queue_.RetryAfter(books_.now()), 0, 0});
    queue_.Remove(first->second);
  }
}

void RivalCore::RefuseLost(ModelId model, Actions& actions) {
  const auto refuse = [&](RequestId request) {
    actions.push_back(NoReplicaRefusal(request));
    queue_.Remove(request);
  };
  if (books_.OutageEnd(model) <= books_.now()) {
    while (const Waiting* head = queue_.First(model)) refuse(head->request.request);
  }
  bool more = true;
  while (std::exchange(more, false)) {
    for (const auto& [home, first] : queue_.Homes(model)) {
      if (books_.OutageEnd(model, home) > books_.now()) continue;
      refuse(first);
      more = true;
    }
  }
}

void RivalCore::PumpLane(ModelId model, Actions& actions) {
  Waiting* next = queue_.First(model);
  while (next != nullptr) {
    Waiting& head = *next;
    next = queue_.Behind(head);
    const std::vector<ReplicaId> candidates = books_.Candidates(head.request, head.avoid);
    const RivalRule::Choice choice =
        candidates.empty() ? RivalRule::Choice(WaitReason::kNoReplicaUp) : rule_->Choose(head.request, candidates);
    if (const WaitReason* reason = std::get_if<WaitReason>(&choice)) {
      head.reason = *reason;
      // Others need not wait for its home.
      if (candidates.empty() && head.request.home) continue;
      return;
    }
    Dispatch(queue_.Remove(head.request.request), std::get<ReplicaId>(choice), actions);
  }
}

void RivalCore::Dispatch(const Waiting& waiting, ReplicaId replica, Actions& actions) {
  const RivalBooks::Live& live = books_.Start(waiting.request, waiting.arrived, replica, waiting.earlier_output);
  queue_.CountForward(books_.now());
  const std::optional<EngineReport>& report = books_.replica(replica).report;
  actions.push_back(
      Forward{waiting.request.request, replica, live.lease, books_.now() - waiting.arrived,
              books_.fleet().limits.dispatch_delay + IdleFirstToken(books_.spec(replica), waiting.request.prompt),
              report ? std::max(0.0, report->kv_used_share) : 0});
  rule_->OnDispatched(live);
}

void RivalCore::Enqueue(Waiting waiting) {
  SetExpiry(waiting);
  waiting.order = rule_->OrderOf(waiting.request);
  queue_.Push(std::move(waiting));
}

void RivalCore::EndLease(RequestId request, const RequestClosed* closed) {
  if (const std::optional<RivalBooks::Live> live = books_.End(request)) rule_->OnEnded(*live, closed);
}

std::optional<Refuse> RivalCore::RefusalAtArrival(const RequestArrived& request) const {
  if (draining_) return ShutdownRefusal(request.request);
  if (const std::optional<Refuse> refusal = books_.CheckFits(request)) return refusal;
  if (books_.OutageEnd(request.model, request.home) > books_.now()) return std::nullopt;
  return NoReplicaRefusal(request.request);
}

void RivalCore::SetExpiry(Waiting& waiting) const {
  const Fleet& fleet = books_.fleet();
  assert(waiting.request.service_class.value() < fleet.classes.size());
  const ClassSpec& service_class = fleet.classes[waiting.request.service_class.value()];
  waiting.expires = waiting.arrived + rule_->QueueTime(service_class);
  waiting.expires_with = Refusal::kQueueTimeout;
  if (!rule_->RefusesLate() || !service_class.refuse_late) return;
  Duration fastest = Duration::Infinite();
  for (const size_t i : books_.ServersOf(waiting.request.model)) {
    fastest = std::min(fastest, IdleFirstToken(fleet.replicas[i], waiting.request.prompt));
  }
  const Duration needed = fleet.limits.dispatch_delay + fastest;
  if (needed > service_class.ttft) return;
  const Instant late = waiting.arrived + service_class.ttft - needed;
  if (late >= waiting.expires) return;
  waiting.expires = late;
  waiting.expires_with = Refusal::kDeadlineUnreachable;
}

}  // namespace penstock
