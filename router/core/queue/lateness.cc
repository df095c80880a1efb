#include "router/core/queue/lateness.h"

#include <algorithm>

namespace penstock {
namespace {

// While no replica of a model is up, its requests are looked at this often. An outage ends with an event, so this only
// notices the end of their queue time. A request that only its home can take is looked at as often: no event tells that
// its home has been down for long.
constexpr Duration kOutageCheck = Duration::Milliseconds(250);
// A request whose bound moved later while it waited is looked at again after this.
constexpr Duration kLeastPause = Duration::Milliseconds(1);

Instant EndOfQueueTime(const LateQuestion& question) {
  const WaitState& waiting = question.request.waiting;
  return waiting.committed ? Instant::Never() : waiting.since + question.goals.queue;
}

// True: the TTFT goal of the request binds it.
bool GoalBinds(const LateQuestion& question) { return question.goals.refuse_late && !CameBack(question.request); }

// Seconds of the TTFT goal that are left for a server. Servers count as idle, so a wait for others takes nothing off
// it. Best effort waited because no server could make the goal. The time that passed makes none of them faster.
double LeftOfGoal(const LateQuestion& question) {
  const RequestState& request = question.request;
  const double waited = request.waiting.best_effort ? (question.now - request.arrival).seconds() : 0;
  return question.goals.ttft.seconds() - waited;
}

// A way to the first token: seconds on other engines, then the prefill on a server of the model.
struct Way {
  double ahead = 0;
  PrefillWork whole;   // Without its cached prompt.
  PrefillWork cached;  // With it.
};

// Seconds to the first token on the fastest server that could make the goal if it were idle.
struct Fastest {
  std::optional<double> seconds;
  bool any_server = false;
  bool cached = false;  // With its cached prompt the request could make the goal.
};

void AddWay(const LateQuestion& question, const Way& way, Fastest& fastest) {
  const double goal = LeftOfGoal(question) - way.ahead;
  for (const ModelServers::Kind& kind : question.servers.Fresh(question.request.arrived.model, question.now).kinds()) {
    if (kind.idle_factor <= 0) continue;
    fastest.any_server = true;
    fastest.cached |= kind.FirstToken(way.cached, kind.idle_factor) <= goal;
    // Feasibility is counted without cache hits: a prompt that only a cache makes feasible is never refused for
    // missing it.
    if (kind.FirstToken(way.whole, kind.idle_factor) > goal) continue;
    const double here = way.ahead + kind.FirstToken(way.cached, kind.busy_factor);
    fastest.seconds = std::min(fastest.seconds.value_or(here), here);
  }
}

Fastest FastestFirstToken(const LateQuestion& question) {
  const RequestState& request = question.request;
  const Tokens cached = request.waiting.cached;
  Fastest fastest;
  AddWay(question, {request.stage.least, request.PrefillAfter(Tokens(0)), request.PrefillAfter(cached)}, fastest);
  // A server may compute a prompt itself that a prefill replica is to compute (router/core/pairs).
  if (!request.stage.apart) return fastest;
  const Tokens prompt = request.Prompt();
  AddWay(question, {0, UncachedPrefill(Tokens(0), prompt), UncachedPrefill(cached, prompt)}, fastest);
  return fastest;
}

Instant LastChanceOfFirstToken(const LateQuestion& question) {
  if (!GoalBinds(question)) return Instant::Never();
  const Fastest fastest = FastestFirstToken(question);
  if (!fastest.seconds) return Instant::Never();
  const Duration needed = Duration::Seconds(question.dispatch_delay.seconds() + *fastest.seconds);
  return question.request.arrival + question.goals.ttft - needed + Duration::Nanoseconds(1);
}

}  // namespace

std::vector<LateBound> AllLateBounds() {
  return {{Refusal::kQueueTimeout, EndOfQueueTime, false},
          {Refusal::kDeadlineUnreachable, LastChanceOfFirstToken, true}};
}

LateQuestion Lateness::QuestionOf(const RequestState& request, Instant now) const {
  return {request, fleet_.GoalsOf(request), servers_, fleet_.spec().limits.dispatch_delay, now};
}

Instant Lateness::LastChance(const RequestState& request, Instant now) const {
  const LateQuestion question = QuestionOf(request, now);
  Instant next = Instant::Never();
  for (const LateBound& bound : bounds_) next = std::min(next, bound.at(question));
  return next;
}

Instant Lateness::NextCheck(const RequestState& request, Instant now) const {
  const Instant last = LastChance(request, now);
  return request.arrived.home ? std::min(last, now + kOutageCheck) : last;
}

Instant Lateness::NextCheckAfter(const RequestState& request, Instant now) const {
  const Duration pause = servers_.AnyUp(request.arrived.model) ? kLeastPause : kOutageCheck;
  return std::max(NextCheck(request, now), now + pause);
}

bool Lateness::BestEffort(const RequestState& request, Instant now) const {
  const LateQuestion question = QuestionOf(request, now);
  if (!best_effort_apart_ || !GoalBinds(question)) return false;
  const Fastest fastest = FastestFirstToken(question);
  return fastest.any_server && !fastest.seconds && !fastest.cached;
}

std::optional<Refusal> Lateness::ReasonOf(RequestState* request, Instant now) const {
  const ModelId model = request->arrived.model;
  const RequestArrived& arrived = request->arrived;
  if (arrived.home ? servers_.HomeDownForGood(arrived, now) : servers_.DownForGood(model, now)) {
    return Refusal::kNoReplica;
  }
  if (request->waiting.committed || request->waiting.next_check > now) return std::nullopt;
  request->waiting.cached = servers_.MostCached(*request);
  const LateQuestion question = QuestionOf(*request, now);
  for (const LateBound& bound : bounds_) {
    if (bound.at(question) > now) continue;
    if (bound.only_while_up && !servers_.AnyUp(model)) continue;
    return bound.reason;
  }
  return std::nullopt;
}

}  // namespace penstock
