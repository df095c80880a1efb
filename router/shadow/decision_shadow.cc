#include "router/shadow/decision_shadow.h"

#include <algorithm>
#include <variant>

#include "router/core/contract/vacancy.h"
#include "router/shadow/unobeyed_orders.h"

namespace penstock {
namespace {

// The timer of a live router fires a little late. The shadow waits that long for it, so that both see one order.
constexpr Duration kTimerPatience = Duration::Milliseconds(5);
// Timers of one event: undone work of a lane is due at once, and goes on with the next event.
constexpr int kTimersPerEvent = 4;

FollowingCore& FollowingPartOf(AdmissionCore& core) { return dynamic_cast<FollowingCore&>(core); }

bool IsLimitOfTenant(Refusal reason) { return reason == Refusal::kTenantTokens || reason == Refusal::kTenantRequests; }

}  // namespace

bool ShadowSkips(const std::vector<Action>& actions) {
  return std::any_of(actions.begin(), actions.end(), [](const Action& action) {
    const Refuse* refuse = std::get_if<Refuse>(&action);
    return refuse != nullptr && IsLimitOfTenant(refuse->reason);
  });
}

DecisionShadow::DecisionShadow(std::unique_ptr<AdmissionCore> core)
    : core_(std::move(core)), following_(FollowingPartOf(*core_)), tallies_(following_.Forecasts()) {}

TrackedRequest* DecisionShadow::Find(RequestId id) {
  const auto found = tracked_.find(id);
  return found == tracked_.end() ? nullptr : &found->second;
}

void DecisionShadow::Take(const Event& event, Instant now, const std::vector<Action>& actions) {
  if (!started_) started_ = now;
  ++counts_.events;
  RunTimers(event, now);
  Hear(event, now, actions);
  for (const Action& action : actions) Done(action, now);
  UndoAborts(now);
  // An answer may bring another order: that one is answered with the next event.
  for (const Event& answer : AnswersTo(std::exchange(orders_, {}), actions)) Tell(answer, now);
}

void DecisionShadow::RunTimers(const Event& event, Instant now) {
  while (!ahead_.empty() && ahead_.top().first <= now) {
    const auto [due, id] = ahead_.top();
    ahead_.pop();
    const TrackedRequest* tracked = Find(id);
    if (tracked == nullptr || tracked->place != ShadowPlace::kAhead) continue;
    if (tracked->sent_at + tracked->sent->expected_ttft == due) Tell(FirstToken{id}, now);
  }
  if (std::holds_alternative<TimerFired>(event)) return;
  for (int i = 0; i < kTimersPerEvent; ++i) {
    const std::optional<Instant> due = core_->NextDeadline();
    if (!due || *due + kTimerPatience > now) return;
    Tell(TimerFired{}, now);
  }
}

void DecisionShadow::Hear(const Event& event, Instant now, const std::vector<Action>& actions) {
  if (const auto* arrived = std::get_if<RequestArrived>(&event)) {
    if (ShadowSkips(actions)) return;
    TrackedRequest& tracked = tracked_[arrived->request];
    tracked = TrackedRequest();
    tracked.request = *arrived;
    tracked.arrived = now;
    return Tell(event, now);
  }
  if (const auto* first = std::get_if<FirstToken>(&event)) return HearFirst(*first, now);
  if (const auto* closed = std::get_if<RequestClosed>(&event)) return HearClosed(*closed, now);
  if (const auto* requeued = std::get_if<RequestRequeued>(&event)) return HearRequeued(*requeued, now);
  if (const auto* progress = std::get_if<Progress>(&event)) HearProgress(*progress);
  if (const auto* changed = std::get_if<FleetChanged>(&event)) {
    tallies_.SetFleet(changed->fleet);
    steps_.resize(changed->fleet.replicas.size());
    Vacate(changed->fleet, now);
  }
  Tell(event, now);
}

void DecisionShadow::HearFirst(const FirstToken& first, Instant now) {
  TrackedRequest* tracked = Find(first.request);
  // Its arrival was lost.
  if (tracked == nullptr && now < silent_until_) forgotten_.insert(first.request);
  if (tracked == nullptr || !tracked->replica || tracked->begun) return;
  if (tracked->verdict) tallies_.CountFirst(*tracked, now);
  tracked->begun = true;
  tracked->base_steps = steps_[tracked->replica->value()];
  if (!tracked->first) tracked->first = now;
  if (tracked->place == ShadowPlace::kFollowed) Tell(first, now);
}

void DecisionShadow::HearProgress(const Progress& progress) {
  for (const ReplicaProgress& replica : progress.replicas) {
    if (replica.replica.value() < steps_.size()) steps_[replica.replica.value()] += replica.steps;
  }
  for (const StreamTokens& stream : progress.corrections) {
    TrackedRequest* tracked = Find(stream.request);
    if (tracked == nullptr || !tracked->replica) continue;
    const int64_t own = (stream.generated - tracked->earlier).value() / std::max(1, tracked->request.sequences);
    tracked->base_steps = steps_[tracked->replica->value()] - own;
  }
}

void DecisionShadow::HearClosed(const RequestClosed& closed, Instant now) {
  forgotten_.erase(closed.request);
  TrackedRequest* tracked = Find(closed.request);
  if (tracked == nullptr) return;
  // A request that only the shadow has sent never reached an engine.
  if (tracked->place == ShadowPlace::kAhead) {
    following_.Withdraw(closed.request, now);
  } else if (tracked->place != ShadowPlace::kOut) {
    Tell(closed, now);
  }
  End(*tracked, &closed, now);
}

void DecisionShadow::HearRequeued(const RequestRequeued& requeued, Instant now) {
  TrackedRequest* tracked = Find(requeued.request);
  if (tracked == nullptr || !tracked->replica) return;
  const bool knows = tracked->place == ShadowPlace::kFollowed;
  tracked->replica.reset();
  tracked->begun = tracked->taken_back = false;
  tracked->earlier = requeued.generated;
  tracked->sent.reset();
  tracked->refused.reset();
  tracked->place = knows ? ShadowPlace::kWaiting : ShadowPlace::kOut;
  if (knows) Tell(requeued, now);
}

void DecisionShadow::Tell(const Event& event, Instant now) {
  answers_.clear();
  core_->Apply(event, now, answers_);
  for (const Action& action : answers_) Note(action, now);
}

void DecisionShadow::Note(const Action& action, Instant now) {
  const std::optional<RequestAction> of_request = RequestActionOf(action);
  if (!of_request) {
    ++counts_.fleet_orders;
    orders_.push_back(action);
    return;
  }
  TrackedRequest* tracked = Find(RequestOf(*of_request));
  if (tracked == nullptr) return;
  if (const auto* forward = std::get_if<Forward>(&action)) {
    tracked->sent = *forward;
    tracked->sent_at = now;
    tracked->place = ShadowPlace::kAhead;
    ahead_.emplace(now + forward->expected_ttft, forward->request);
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    tracked->refused = *refuse;
    tracked->place = ShadowPlace::kOut;
  } else if (std::holds_alternative<Abort>(action)) {
    if (!std::exchange(tracked->taken_back, true)) ++counts_.aborts;
    aborted_.push_back(tracked->request.request);
  }
}

void DecisionShadow::Done(const Action& action, Instant now) {
  if (const auto* forward = std::get_if<Forward>(&action)) {
    if (TrackedRequest* tracked = Find(forward->request)) Place(*tracked, *forward, now);
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    TrackedRequest* tracked = Find(refuse->request);
    if (tracked == nullptr) return;
    tracked->verdict = ShadowTallies::OfRefusal(*tracked);
    const std::optional<WaitView> wait = core_->WaitOf(refuse->request);
    if (Compares(now)) {
      tallies_.Count(*tracked, now, wait ? std::optional(wait->reason) : std::nullopt);
    } else {
      tracked->verdict.reset();
    }
    if (tracked->place != ShadowPlace::kOut) following_.Withdraw(refuse->request, now);
    End(*tracked, nullptr, now);
  } else if (const auto* abort = std::get_if<Abort>(&action)) {
    // Both take it back: the shadow waits for the answer as the core in charge does.
    std::erase(aborted_, abort->request);
  }
}

void DecisionShadow::Place(TrackedRequest& tracked, const Forward& forward, Instant now) {
  tracked.verdict = ShadowTallies::OfForward(tracked, forward, now);
  const std::optional<WaitView> wait = core_->WaitOf(forward.request);
  tracked.replica = forward.replica;
  tracked.placed_at = now;
  tracked.begun = tracked.taken_back = false;
  const bool stands = tracked.verdict == ShadowVerdict::kSame && tracked.sent_at == now;
  if (stands) {
    tracked.placed = tracked.sent;
    tracked.place = ShadowPlace::kFollowed;
  } else {
    Follow(tracked, now);
  }
  if (!Compares(now)) return tracked.verdict.reset();
  tallies_.Count(tracked, now, wait ? std::optional(wait->reason) : std::nullopt);
}

void DecisionShadow::Follow(TrackedRequest& tracked, Instant now) {
  const Tokens generated = tracked.begun ? Generated(tracked) : tracked.earlier;
  tracked.placed =
      following_.Follow({tracked.request, tracked.arrived, generated, *tracked.replica, tracked.begun}, now);
  tracked.place = tracked.placed ? ShadowPlace::kFollowed : ShadowPlace::kOut;
}

Tokens DecisionShadow::Generated(const TrackedRequest& tracked) const {
  const int64_t steps = std::max<int64_t>(0, steps_[tracked.replica->value()] - tracked.base_steps);
  return tracked.earlier + Tokens(steps * std::max(1, tracked.request.sequences));
}

void DecisionShadow::UndoAborts(Instant now) {
  for (const RequestId id : aborted_) {
    TrackedRequest* tracked = Find(id);
    if (tracked == nullptr) continue;
    if (tracked->place == ShadowPlace::kFollowed && tracked->replica) {
      // The record of the placement stays that of its decision.
      const std::optional<Forward> placed = tracked->placed;
      Follow(*tracked, now);
      tracked->placed = placed;
    } else if (tracked->place == ShadowPlace::kAhead) {
      following_.Withdraw(id, now);
      tracked->place = ShadowPlace::kOut;
    }
  }
  aborted_.clear();
}

void DecisionShadow::Vacate(const Fleet& fleet, Instant now) {
  std::vector<RequestId> left;
  for (const auto& [id, tracked] : tracked_) {
    if (tracked.place != ShadowPlace::kAhead || !tracked.sent) continue;
    if (IsVacant(fleet.replicas[tracked.sent->replica.value()])) left.push_back(id);
  }
  // The order of a hash table must not reach the core.
  std::sort(left.begin(), left.end());
  for (const RequestId id : left) {
    tracked_[id].place = ShadowPlace::kWaiting;
    tracked_[id].sent.reset();
    Tell(RequestRequeued{id, tracked_[id].earlier}, now);
  }
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    if (IsVacant(fleet.replicas[i])) steps_[i] = 0;
  }
}

bool DecisionShadow::Compares(Instant now) {
  if (now >= silent_until_) forgotten_.clear();
  return forgotten_.empty();
}

void DecisionShadow::End(TrackedRequest& tracked, const RequestClosed* closed, Instant now) {
  ServiceTimes times{tracked.arrived, tracked.first, now};
  if (closed != nullptr) {
    times.finished = closed->outcome == Outcome::kFinished;
    times.tokens = closed->output.value() / std::max(1, tracked.request.sequences);
  }
  if (!tracked.request.observed) times.first.reset();
  const ClassSpec& goals = tallies_.fleet().classes[tracked.request.service_class.value()];
  const Service service = ServiceOf(times, goals.ttft, goals.tpot);
  tallies_.CountEnd(tracked, service, closed == nullptr);
  if (on_end_) on_end_(tracked, closed, service, now);
  const RequestId id = tracked.request.request;
  tracked_.erase(id);
}

void DecisionShadow::Reset(Instant now) {
  std::vector<RequestId> known;
  for (const auto& [id, tracked] : tracked_) {
    if (tracked.place != ShadowPlace::kOut) known.push_back(id);
  }
  // The order of a hash table must not reach the core.
  std::sort(known.begin(), known.end());
  for (const RequestId id : known) following_.Withdraw(id, now);
  for (const auto& [id, tracked] : tracked_) forgotten_.insert(id);
  silent_until_ = now + kPatience;
  tracked_.clear();
  ahead_ = {};
  ++counts_.resets;
}

ShadowReport DecisionShadow::Report(Instant now) const {
  ShadowReport report = counts_;
  tallies_.Show(report);
  report.made = now;
  report.seconds = started_ ? (now - *started_).seconds() : 0;
  return report;
}

}  // namespace penstock
