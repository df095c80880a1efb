// Waiting requests of PenstockCore: their order in the queue, and until when they may wait.
#include <algorithm>
#include <cmath>

#include "router/core/penstock_core.h"

namespace penstock {
namespace {

// While no replica of a model is up, its requests are looked at this often.
constexpr Duration kOutageCheck = Duration::Milliseconds(250);

}  // namespace

void PenstockCore::Enqueue(RequestState* request) {
  request->phase = RequestPhase::kWaiting;
  lanes_[request->arrived.model.value()].Push(request);
  ++queued_requests_;
  queued_bytes_ += request->arrived.body;
  request->next_check = NextCheckOf(*request);
  checks_.insert({request->next_check, request->arrived.request});
}

void PenstockCore::Dequeue(RequestState* request) {
  lanes_[request->arrived.model.value()].Remove(request);
  --queued_requests_;
  queued_bytes_ -= request->arrived.body;
  checks_.erase({request->next_check, request->arrived.request});
}

// Who left may have kept others from being tried.
void PenstockCore::LetOthersPast(ModelId model) {
  if (untried_[model.value()]) unfinished_[model.value()] = true;
}

void PenstockCore::ScheduleCheck(RequestState* request) {
  checks_.erase({request->next_check, request->arrived.request});
  const Duration pause = AnyReplicaUp(request->arrived.model) ? Duration::Milliseconds(1) : kOutageCheck;
  request->next_check = std::max(NextCheckOf(*request), now_ + pause);
  checks_.insert({request->next_check, request->arrived.request});
}

Instant PenstockCore::NextCheckOf(const RequestState& request) {
  const ClassSpec& goals = GoalsOf(request);
  const Instant timeout = request.committed ? Instant::Never() : request.waits_since + goals.queue;
  const bool goal_binds =
      options_.refuse_late && goals.refuse_late && !request.committed && !request.begun && request.kept == Tokens(0);
  if (!goal_binds) return timeout;
  // Counted without cache hits: a prompt that only a cache makes feasible is never refused for missing it.
  const Tokens prefill = std::max(Tokens(1), request.Prompt() - request.cached);
  std::optional<double> fastest;
  for (const ModelServers::Kind& kind : FreshServers(request.arrived.model).kinds()) {
    if (kind.idle_factor <= 0) continue;
    if (kind.FirstToken(request.Prompt(), kind.idle_factor) > goals.ttft.seconds()) continue;
    const double here = kind.FirstToken(prefill, kind.busy_factor);
    fastest = std::min(fastest.value_or(here), here);
  }
  if (!fastest) return timeout;
  const Duration needed = Duration::Seconds(fleet_.limits.dispatch_delay.seconds() + *fastest);
  return std::min(timeout, request.arrival + goals.ttft - needed + Duration::Nanoseconds(1));
}

std::optional<Refusal> PenstockCore::LateReason(RequestState* request) {
  if (DownForGood(request->arrived.model)) return Refusal::kNoReplica;
  if (request->committed || request->next_check > now_) return std::nullopt;
  request->cached = MostCached(*request);
  if (NextCheckOf(*request) > now_) return std::nullopt;
  if (now_ >= request->waits_since + GoalsOf(*request).queue) return Refusal::kQueueTimeout;
  if (!AnyReplicaUp(request->arrived.model)) return std::nullopt;
  return Refusal::kDeadlineUnreachable;
}

void PenstockCore::RefuseWaiting(RequestState* request, Refusal reason, Actions& actions) {
  Refuse refuse{request->arrived.request, reason, RetryAfter(*request), 0, 0};
  if (reason == Refusal::kQueueFull) {
    refuse.bound = fleet_.limits.max_queued_requests;
    refuse.value = queued_requests_;
  }
  actions.push_back(refuse);
  if (reason == Refusal::kDeadlineUnreachable) density_.Refused(request->arrived.tenant, request->arrived.prompt);
  Dequeue(request);
  requests_.erase(refuse.request);
}

void PenstockCore::RefuseLate(Actions& actions) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const ModelId model(static_cast<uint32_t>(i));
    while (!lanes_[i].empty() && DownForGood(model) && Spend(kRefusalTries)) {
      RefuseWaiting(lanes_[i].First(), Refusal::kNoReplica, actions);
    }
  }
  while (!checks_.empty() && checks_.begin()->first <= now_ && Spend(kRefusalTries)) {
    RequestState* request = Find(checks_.begin()->second);
    if (const std::optional<Refusal> reason = LateReason(request)) {
      LetOthersPast(request->arrived.model);
      RefuseWaiting(request, *reason, actions);
    } else {
      ScheduleCheck(request);
    }
  }
}

Duration PenstockCore::RetryAfter(const RequestState& request) const {
  const ModelId model = request.arrived.model;
  if (model.value() >= lanes_.size()) return Duration::Seconds(1);
  const Lane& lane = lanes_[model.value()];
  const double rate = lane.DrainRate(now_);
  const double seconds = rate > 0 ? static_cast<double>(lane.size() + 1) / rate : 1;
  return Duration::Seconds(std::clamp(seconds, 1.0, 60.0));
}

void PenstockCore::PrepareForecast(RequestState* request) {
  const RequestArrived& arrived = request->arrived;
  if (options_.true_output) request->true_output = options_.true_output(arrived.request);
  const TenantId tenant = options_.tenant_curves ? arrived.tenant : TenantId();
  request->forecast_key = {arrived.model, tenant, arrived.prompt, arrived.max_output > Tokens(0)};
  request->curve = outputs_.CurveFor(request->forecast_key);
}

double PenstockCore::ExpectedWork(const RequestState& request, double output) {
  const Tokens prefill = std::max(Tokens(1), request.Prompt() - request.cached);
  double least = 0;
  for (const ModelServers::Kind& kind : FreshServers(request.arrived.model).kinds()) {
    if (kind.idle_factor <= 0) continue;
    const double here = kind.Work(request.Prompt(), prefill, output);
    least = least > 0 ? std::min(least, here) : here;
  }
  return least;
}

Tokens PenstockCore::MostCached(const RequestState& request) const {
  if (request.arrived.prefix.empty()) return Tokens(0);
  int64_t blocks = 0;
  for (size_t index : ServersOf(request.arrived.model)) {
    blocks = std::max(blocks, replicas_[index].prefixes.Match(request.arrived.prefix));
  }
  return kPrefixBlock * blocks;
}

Instant PenstockCore::PlaceInLane(const RequestState& request) {
  const ClassSpec& goals = GoalsOf(request);
  const Instant due = request.arrival + goals.ttft;
  if (options_.order == QueueOrder::kDeadline || !goals.refuse_late || request.arrived.embedding) return due;
  const double output = request.true_output ? request.true_output->AsDouble() : request.curve->MeanRemaining(0, 1e9);
  const double work = ExpectedWork(request, output);
  switch (options_.order) {
    case QueueOrder::kFairDensity: {
      const double shift = density_.Shift(request.arrived.tenant, request.arrived.prompt, work / output);
      return due + Duration::Seconds(shift * goals.ttft.seconds());
    }
    case QueueOrder::kDeadline:
      break;
    case QueueOrder::kDensity:
      return Instant() + Duration::Seconds(work / output);
    case QueueOrder::kShortestWork:
      return Instant() + Duration::Seconds(work);
  }
  return due;
}

}  // namespace penstock
