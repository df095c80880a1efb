#include "router/core/admission/verdicts.h"

#include <algorithm>

#include "router/core/contract/admission_checks.h"
#include "router/core/contract/vacancy.h"
#include "router/core/placement/hints.h"

namespace penstock {

RetryHint& Verdicts::HintOf(const RequestArrived& arrived) {
  const size_t model = arrived.model.value();
  const size_t service_class = arrived.service_class.value();
  if (model >= hints_.size()) hints_.resize(model + 1);
  if (service_class >= hints_[model].size()) hints_[model].resize(service_class + 1);
  return hints_[model][service_class];
}

void Verdicts::Configure() {
  const Fleet& fleet = rooms_.fleet.spec();
  for (size_t model = 0; model < std::min(hints_.size(), fleet.models.size()); ++model) {
    if (IsVacant(fleet.models[model])) hints_[model].clear();
    for (size_t each = 0; each < std::min(hints_[model].size(), fleet.classes.size()); ++each) {
      if (IsVacant(fleet.classes[each])) hints_[model][each] = RetryHint();
    }
  }
}

void Verdicts::Arrived(RequestState* request, Instant now) {
  const RequestArrived& arrived = request->arrived;
  if (!rooms_.fleet.GoalsOf(*request).refuse_late || request->waiting.best_effort) return;
  request->evidence.follows_up = HintOf(arrived).Follows(arrived.prompt, now);
}

void Verdicts::Send(RequestState* request, const Choice& choice, Instant now, std::vector<Action>& actions) {
  const ReplicaId replica(static_cast<uint32_t>(choice.replica));
  const RequestArrived& arrived = request->arrived;
  request->running.hinted = HintedTokens(*request, choice.replica, rooms_.fleet.replica(replica));
  if (request->running.hinted > Tokens(0)) ++hinted_;
  rooms_.servers.sessions.Sent(arrived.session, arrived.tenant, replica, request->Prompt());
  if (rooms_.servers.Of(arrived.model).size() > kSmallFleet) rooms_.work.Charge(kDispatchTries);
  rooms_.running.Start(request, replica, rooms_.placement.GrowthOf(choice), choice.expected_ttft, now);
  request->stage.decode = choice.expected_ttft - request->stage.ahead;
  const std::optional<PrefillOrder> prefill = rooms_.placement.pairs.Send(request, now);
  rooms_.servers.UpdateFullness(rooms_.fleet.replica(replica), now);
  rooms_.floors.Update(std::span(&choice.replica, 1), now);
  rooms_.waiting.lane(request->arrived.model).Dispatched(*request, now);
  if (request->requeues == 0) {
    if (request->evidence.follows_up) HintOf(request->arrived).Ended(true);
    rooms_.order->Served(request->arrived);
    rooms_.early.Dispatched(*request, now);
  }
  actions.push_back(Forward{request->arrived.request, replica, request->running.lease, now - request->arrival,
                            Duration::Seconds(choice.expected_ttft), choice.peak_share, prefill});
}

void Verdicts::Refuse(RequestState* request, penstock::Refuse refuse, Instant now, std::vector<Action>& actions) {
  const RequestArrived& arrived = request->arrived;
  if (refuse.reason == Refusal::kDeadlineUnreachable) {
    RetryHint& hint = HintOf(arrived);
    refuse.retry_after = hint.hint();
    if (request->evidence.follows_up) hint.Ended(false);
    hint.Refused(arrived.prompt, now);
    rooms_.order->Refused(arrived);
    rooms_.waiting.lane(arrived.model).late.Refused(now);
  }
  actions.push_back(refuse);
  rooms_.StopWaiting(request, now);
  rooms_.waiting.lane(arrived.model).ClassOf(*request).waiting.Settle(*request, 0, now);
  rooms_.requests.Erase(refuse.request);
}

penstock::Refuse Verdicts::NoReplica(const RequestArrived& arrived) const {
  penstock::Refuse refuse = NoReplicaRefusal(arrived.request);
  for (const size_t index : rooms_.servers.Of(arrived.model)) {
    const bool takes = !arrived.home || arrived.home->value() == index;
    refuse.unwoken |= takes && rooms_.fleet.replicas()[index].presence.CannotWake();
  }
  return refuse;
}

void Verdicts::RefuseWaiting(RequestState* request, Refusal reason, Instant now, std::vector<Action>& actions) {
  const RequestArrived& arrived = request->arrived;
  const Duration retry_after = rooms_.waiting.RetryAfter(arrived.model, now);
  penstock::Refuse refuse{arrived.request, reason, retry_after, 0, 0};
  if (reason == Refusal::kQueueFull) {
    const CoreLimits& limits = rooms_.fleet.spec().limits;
    refuse = QueueFullRefusal(arrived.request, limits, rooms_.waiting.requests(), retry_after);
  }
  if (reason == Refusal::kNoReplica) refuse = NoReplica(arrived);
  if (reason == Refusal::kDeadlineUnreachable) rooms_.early.WasLate(*request, now);
  Refuse(request, refuse, now, actions);
}

bool Verdicts::RefusesEarly(RequestState* request, Instant now, std::vector<Action>& actions) {
  // A request that waits by choice could be placed. One for which others make room need not wait for those that were
  // late before.
  if (request->waiting.company.replica || rooms_.MayDisplace(*request) || rooms_.reservations.Disturbs(*request, now) ||
      !rooms_.early.Refuses(*request, now))
    return false;
  Refuse(request, {request->arrived.request, Refusal::kDeadlineUnreachable, Duration(), 0, 0, true}, now, actions);
  return true;
}

}  // namespace penstock
