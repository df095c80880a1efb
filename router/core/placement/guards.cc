#include "router/core/placement/guards.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "router/core/placement/giving_way.h"

namespace penstock {
namespace {

// Step budgets of prefill that may be on their way to an engine: the queue stays here, where it can still be changed.
// The reference simulation found 1 to 4 alike (98 to 101 % of the goodput). All time guards together:
// bench/results/ablations.md, without=steps.
constexpr double kRunwayBudgets = 2;
// Share of the TTFT goal; the rest covers the noise of steps and links. Measured as kRunwayBudgets.
constexpr double kTtftMargin = 0.97;
// A time that rounding could have made equal to another one is not longer.
constexpr double kExact = 1e-9;

bool HasRows(const GuardQuestion& question) {
  const ReplicaState& replica = question.replica;
  return replica.sequences() + question.request.arrived.sequences <= RowsOf(replica, question.now);
}

bool RunwayHasRoom(const GuardQuestion& question) {
  if (!RunwayIsLong(question.replica)) return true;
  const PrefillWork& backlog = question.replica.prefills().work();
  const PrefillPrice& price = question.outlook.price;
  return price.Of(backlog) <= price.Of(PrefillOf(Tokens(0), question.cached));
}

bool RunwayIsShort(const GuardQuestion& question) {
  return RunwayHasRoom(question) && (!GivesWay(question) || LeavesRoom(question));
}

bool OnePromptAtATime(const GuardQuestion& question) {
  return RunwayHasRoom(question) && (!GivesWay(question) || question.replica.prefills().requests().empty());
}

// True: the first token of the request could come within its goal on the replica if it were idle.
bool TtftFeasible(const GuardQuestion& question) {
  // Counted without cache hits: a prompt that only a cache makes feasible is never refused for missing it.
  const StepModel& model = question.replica.steps_model();
  const double alone =
      FirstTokenAlone(model.prior(), question.request.PrefillAfter(Tokens(0)), question.replica.spec().batch_budget);
  // A goal that only the derate makes impossible counts: another replica can make it.
  return question.request.stage.least + question.outlook.host_time + model.Factor(0) / model.derate() * alone <=
         question.goals().ttft.seconds();
}

bool FirstTokenInTime(const GuardQuestion& question) {
  const ClassSpec& goals = question.goals();
  if (!goals.refuse_late || question.request.kept > Tokens(0)) return true;
  const double waited = (question.now - question.request.arrival).seconds();
  const double goal = goals.ttft.seconds();
  if (waited >= goal || !TtftFeasible(question)) return true;
  return waited + question.outlook.ExpectedTtft() <= kTtftMargin * goal;
}

// Slack of the decoding streams of one class against the mixed steps ahead. A step may take the time per token for
// each token that it makes.
bool DecodingStreamsKeepPace(ClassId id, const ClassSpec& goals, const GuardQuestion& question) {
  const StepOutlook& outlook = question.outlook;
  const Instant due = question.replica.streams().NextDue(id, question.now);
  if (due == Instant::Never()) return true;
  const double tpot = goals.tpot.seconds() * question.replica.facts.speculation.value();
  const double slack = (due - question.now).seconds() - tpot;
  const double first = outlook.step + outlook.price.Of(outlook.first) - tpot;
  const double last = outlook.Done(outlook.queued) - outlook.Steps(outlook.queued) * tpot;
  return outlook.remainder + std::max(first, last) <= slack;
}

// A prompt behind a queued prompt delays the second token of the queued one.
bool PrefillingStreamsKeepPace(const GuardQuestion& question) {
  const StepOutlook& outlook = question.outlook;
  const PrefillWork& prefill = outlook.queued;
  PrefillWork ahead;
  for (const RequestState* queued : question.replica.prefills().requests()) {
    ahead += queued->PrefillLeft();
    const ClassSpec& goals = question.classes[queued->arrived.service_class.value()];
    if (!goals.refuse_late) continue;
    const double tpot = goals.tpot.seconds() * question.replica.facts.speculation.value();
    const Instant due = queued->arrival + goals.ttft + goals.tpot * queued->kept.value();
    const double at_first = (due - question.now).seconds() - outlook.remainder - outlook.Done(ahead);
    if (at_first < 0) continue;
    const double delay =
        outlook.Done(prefill) - outlook.Done(ahead) - (outlook.Steps(prefill) - outlook.Steps(ahead)) * tpot;
    if (delay > at_first) return false;
  }
  return true;
}

// True: the batch with the request makes the TPOT of every class that an idle replica could make. Other classes are
// served best effort.
bool SteadyStateKeepsPace(const GuardQuestion& question) {
  const RequestState& request = question.request;
  const ReplicaState& replica = question.replica;
  const StepModel& model = replica.steps_model();
  const double prompt = request.Prompt().AsDouble();
  const double alone = model.DecodeStep(1, prompt, question.busy_neighbours);
  const double queued = static_cast<double>(replica.prefills().requests().size());
  double queued_tokens = 0;
  for (const RequestState* waiting : replica.prefills().requests()) queued_tokens += waiting->Prompt().AsDouble();
  const double sequences = static_cast<double>(replica.streams().sequences()) + request.arrived.sequences + queued;
  const double kv_tokens = static_cast<double>(replica.streams().kv_tokens()) + queued_tokens + prompt;
  const double step = model.DecodeStep(sequences, kv_tokens, question.busy_neighbours);
  for (size_t i = 0; i < question.classes.size(); ++i) {
    const ClassSpec& goals = question.classes[i];
    const double tpot = goals.tpot.seconds() * replica.facts.speculation.value();
    if (!goals.refuse_late || tpot < alone / model.derate()) continue;
    const bool concerned =
        request.arrived.service_class.value() == i || replica.streams().Decodes(ClassId(static_cast<uint32_t>(i)));
    if (concerned && step > tpot) return false;
  }
  return true;
}

// The prefill of one step with this room: of the backlog, then of the newcomer's own behind its cached tokens.
PrefillWork FirstStep(const ReplicaState& replica, Tokens cached, const PrefillWork& own, Tokens room) {
  const PrefillWork ahead = replica.prefills().Next(room);
  PrefillWork first = PrefillOf(cached, cached + std::min(own.tokens, room - ahead.tokens));
  if (first.tokens > Tokens(0)) first.load = own.load;
  return ahead + first;
}

bool RunningStreamsKeepPace(const GuardQuestion& question) {
  for (size_t i = 0; i < question.classes.size(); ++i) {
    if (!question.classes[i].refuse_late) continue;
    const ClassId id(static_cast<uint32_t>(i));
    if (!DecodingStreamsKeepPace(id, question.classes[i], question)) return false;
  }
  return PrefillingStreamsKeepPace(question) && SteadyStateKeepsPace(question);
}

}  // namespace

bool RunwayIsLong(const ReplicaState& replica) {
  const double budgets = kRunwayBudgets * replica.spec().batch_budget.AsDouble();
  return replica.prefills().work().tokens.AsDouble() > budgets;
}

Instant StreamsCloseUntil(const ReplicaState& replica, const FleetState& fleet, Instant now) {
  Instant until = now;
  if (!replica.busy()) return until;
  const Tokens room = std::max(Tokens(1), replica.spec().batch_budget - Tokens(replica.streams().sequences()));
  const PrefillWork ahead = replica.prefills().Next(room);
  // A request only adds to the first step. Neighbours may begin to compute or end without a change of the replica.
  const int neighbours = static_cast<int>(fleet.NeighboursOf(replica).size());
  double least = std::numeric_limits<double>::infinity();
  for (int busy = 0; busy <= neighbours; ++busy) {
    const double first = replica.DecodeStep(busy) + replica.steps_model().PriceOfPrefill(busy).Of(ahead);
    least = std::min(least, first + replica.Remainder(now, fleet.spec().limits.dispatch_delay.seconds(), busy));
  }
  // The remainder shrinks as fast as the slack at most, so a stream that would be late now would be so later.
  const std::vector<ClassSpec>& classes = fleet.spec().classes;
  for (size_t i = 0; i < classes.size(); ++i) {
    const Instant due = replica.streams().NextDue(ClassId(static_cast<uint32_t>(i)), now);
    if (classes[i].refuse_late && due != Instant::Never() && least * (1 - kExact) > (due - now).seconds())
      until = std::max(until, due);
  }
  return until;
}

double StepOutlook::Steps(const PrefillWork& prefill) const { return std::ceil(prefill.tokens.AsDouble() / budget); }

GuardQuestion QuestionFor(const RequestState& request, const ReplicaState& replica, const FleetState& fleet,
                          Instant now) {
  const int busy = fleet.BusyNeighbours(replica);
  const Tokens room = replica.spec().batch_budget - Tokens(replica.streams().sequences());
  const CacheHope hope = replica.HopeFor(request);
  PrefillWork own = request.PrefillAfter(hope.expected);
  own.load = hope.load;
  StepOutlook outlook;
  outlook.queued = replica.prefills().work() + own;
  outlook.first = FirstStep(replica, request.Prompt() - own.tokens, own, std::max(Tokens(1), room));
  outlook.budget = std::max(1.0, room.AsDouble());
  outlook.step = replica.DecodeStep(busy);
  outlook.price = replica.steps_model().PriceOfPrefill(busy);
  outlook.remainder = replica.Remainder(now, fleet.spec().limits.dispatch_delay.seconds(), busy);
  outlook.host_time = replica.host_time.seconds();
  outlook.load = hope.load.seconds();
  if (request.stage.apart) outlook.ahead = request.stage.ahead;
  return {request, replica, fleet.spec().classes, hope.expected, busy, outlook, now, fleet.demand};
}

std::vector<Guard> AllGuards() {
  return {{WaitReason::kSequences, HasRows},
          {WaitReason::kRunway, RunwayIsShort},
          {WaitReason::kFirstToken, FirstTokenInTime},
          {WaitReason::kRunningStreams, RunningStreamsKeepPace}};
}

std::vector<Guard> GuardsWithoutNewcomers() {
  std::vector<Guard> guards = AllGuards();
  for (Guard& guard : guards) {
    if (guard.reason == WaitReason::kRunway) guard.holds = OnePromptAtATime;
  }
  return guards;
}

std::optional<WaitReason> FirstBroken(const std::vector<Guard>& guards, const GuardQuestion& question) {
  const ReplicaState& replica = question.replica;
  if (replica.facts.grey.stalled) return WaitReason::kNoReplicaUp;
  const bool slow = replica.facts.grey.derate > 1 && !replica.facts.grey.TakesTrial(question.now);
  if (!replica.busy() && !slow) return std::nullopt;
  for (const Guard& guard : guards) {
    if (!guard.holds(question)) return guard.reason;
  }
  return std::nullopt;
}

}  // namespace penstock
