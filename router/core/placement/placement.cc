#include "router/core/placement/placement.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr double kRunwayBudgets = 2;
constexpr double kTtftMargin = 0.97;

// Everything about the replica's next steps that the guards share.
struct StepOutlook {
  double queued;       // Tokens to compute until this request's first token: the backlog and its own.
  double budget;       // Prefill tokens per step beside the decodes.
  double step;         // Seconds of a step without prefill.
  double per_prefill;  // Seconds per prefill token.
  double remainder;    // Until the step in flight ends.

  double Steps(double prefill) const { return std::ceil(prefill / budget); }
  double Done(double prefill) const { return Steps(prefill) * step + per_prefill * prefill; }
};

StepOutlook OutlookOf(Tokens prefill, const ReplicaState& replica, int busy_neighbours,
                      const PlacementContext& context) {
  StepOutlook outlook;
  outlook.queued = replica.backlog() + prefill.AsDouble();
  outlook.budget = std::max(1.0, replica.spec().batch_budget.AsDouble() - replica.decoding());
  outlook.step = replica.DecodeStep(busy_neighbours);
  outlook.per_prefill = replica.steps_model().PrefillToken(busy_neighbours);
  outlook.remainder = replica.Remainder(context.now, context.dispatch_delay, busy_neighbours);
  return outlook;
}

bool FirstTokenInTime(const RequestState& request, const ReplicaState& replica, const StepOutlook& outlook,
                      const ClassSpec& goals, const PlacementContext& context) {
  if (!goals.refuse_late || request.kept > Tokens(0)) return true;
  const double waited = (context.now - request.arrival).seconds();
  const double goal = goals.ttft.seconds();
  if (waited >= goal || !TtftFeasible(request, replica, goals)) return true;
  return waited + outlook.remainder + outlook.Done(outlook.queued) <= kTtftMargin * goal;
}

// Slack of the decoding streams of one class against the mixed steps ahead.
bool DecodingStreamsKeepPace(ClassId id, const ClassSpec& goals, const ReplicaState& replica,
                             const StepOutlook& outlook, const PlacementContext& context) {
  const Instant due = replica.NextDue(id, goals, context.now);
  if (due == Instant::Never()) return true;
  const double tpot = goals.tpot.seconds();
  const double slack = (due - context.now).seconds() - tpot;
  const double first = outlook.step + outlook.per_prefill * std::min(outlook.queued, outlook.budget) - tpot;
  const double last = outlook.Done(outlook.queued) - outlook.Steps(outlook.queued) * tpot;
  return outlook.remainder + std::max(first, last) <= slack;
}

// What comes behind a queued prompt delays its second token.
bool PrefillingStreamsKeepPace(const ReplicaState& replica, const StepOutlook& outlook,
                               const PlacementContext& context) {
  const double prefill = outlook.queued;
  double ahead = 0;
  for (const RequestState* queued : replica.prefilling()) {
    ahead += queued->prefill_left.AsDouble();
    const ClassSpec& goals = context.classes[queued->arrived.service_class.value()];
    if (!goals.refuse_late) continue;
    const double tpot = goals.tpot.seconds();
    const Instant due = queued->arrival + goals.ttft + goals.tpot * queued->kept.value();
    const double at_first = (due - context.now).seconds() - outlook.remainder - outlook.Done(ahead);
    if (at_first < 0) continue;
    const double delay =
        outlook.Done(prefill) - outlook.Done(ahead) - (outlook.Steps(prefill) - outlook.Steps(ahead)) * tpot;
    if (delay > at_first) return false;
  }
  return true;
}

// Whether a goal can be kept here at all: a class whose TPOT an idle replica cannot make is served best effort.
bool SteadyStateKeepsPace(const RequestState& request, const ReplicaState& replica, int busy_neighbours,
                          const PlacementContext& context) {
  const StepModel& model = replica.steps_model();
  const double prompt = request.Prompt().AsDouble();
  const double alone = model.DecodeStep(1, prompt, busy_neighbours);
  const double queued = static_cast<double>(replica.prefilling().size());
  double queued_tokens = 0;
  for (const RequestState* waiting : replica.prefilling()) queued_tokens += waiting->Prompt().AsDouble();
  const double step = model.DecodeStep(replica.decoding() + request.arrived.sequences + queued,
                                       replica.kv_tokens() + queued_tokens + prompt, busy_neighbours);
  for (size_t i = 0; i < context.classes.size(); ++i) {
    const ClassSpec& goals = context.classes[i];
    if (!goals.refuse_late || goals.tpot.seconds() < alone) continue;
    const bool concerned =
        request.arrived.service_class.value() == i || replica.Decodes(ClassId(static_cast<uint32_t>(i)));
    if (concerned && step > goals.tpot.seconds()) return false;
  }
  return true;
}

bool RunningStreamsKeepPace(const RequestState& request, const ReplicaState& replica, int busy_neighbours,
                            const StepOutlook& outlook, const PlacementContext& context) {
  for (size_t i = 0; i < context.classes.size(); ++i) {
    if (!context.classes[i].refuse_late) continue;
    const ClassId id(static_cast<uint32_t>(i));
    if (!DecodingStreamsKeepPace(id, context.classes[i], replica, outlook, context)) return false;
  }
  return PrefillingStreamsKeepPace(replica, outlook, context) &&
         SteadyStateKeepsPace(request, replica, busy_neighbours, context);
}

double PeakWith(const PoolState& pool, const GrowthVector& joining, const PenstockOptions& options, Instant now) {
  switch (options.memory) {
    case MemoryRule::kForecast:
      return pool.growth.PeakWith(joining, options.variance ? pool.risk.z() : 0, now);
    case MemoryRule::kPresentUse:
      return pool.growth.Present(now) + joining.mean[0];
    case MemoryRule::kUnlimited:
      return 0;
  }
  return 0;
}

}  // namespace

bool TtftFeasible(const RequestState& request, const ReplicaState& replica, const ClassSpec& goals) {
  // Counted without cache hits: a prompt that only a cache makes feasible is never refused for missing it.
  const StepModel& model = replica.steps_model();
  const double alone =
      FirstTokenAlone(model.prior(), request.Prompt().AsDouble(), replica.spec().batch_budget.AsDouble());
  return model.Factor(0) * alone <= goals.ttft.seconds();
}

GuardVerdict TestGuards(const RequestState& request, Tokens prefill, const ReplicaState& replica, int busy_neighbours,
                        const PlacementContext& context) {
  GuardVerdict verdict;
  const StepOutlook outlook = OutlookOf(prefill, replica, busy_neighbours, context);
  const ClassSpec& goals = context.classes[request.arrived.service_class.value()];
  verdict.expected_ttft = outlook.remainder + outlook.Done(outlook.queued);
  if (!replica.busy()) return verdict;
  if (replica.sequences() + request.arrived.sequences > replica.spec().max_sequences) {
    verdict.blocked = WaitReason::kSequences;
  } else if (!context.options.time_guards) {
    return verdict;
  } else if (replica.backlog() > kRunwayBudgets * replica.spec().batch_budget.AsDouble()) {
    verdict.blocked = WaitReason::kRunway;
  } else if (!FirstTokenInTime(request, replica, outlook, goals, context)) {
    verdict.blocked = WaitReason::kFirstToken;
  } else if (!RunningStreamsKeepPace(request, replica, busy_neighbours, outlook, context)) {
    verdict.blocked = WaitReason::kRunningStreams;
  }
  return verdict;
}

bool CannotFit(const GrowthMember& member, PoolId id, const PlacementContext& context) {
  const PoolState& pool = context.pools[id.value()];
  if (context.options.memory != MemoryRule::kForecast || pool.growth.members() == 0) return false;
  const int worst = pool.growth.WorstHorizon();
  const double z = context.options.variance ? pool.risk.z() : 0;
  const double bound = pool.growth.BoundAt(worst, member, z, context.now);
  return bound > context.options.fill_limit * context.ledger.Available(id).AsDouble();
}

MemoryVerdict TestMemory(const ReplicaState& replica, std::span<const GrowthVector> growth,
                         const PlacementContext& context) {
  MemoryVerdict verdict;
  for (size_t i = 0; i < replica.spec().pools.size(); ++i) {
    const PoolId id = replica.spec().pools[i].pool;
    const PoolState& pool = context.pools[id.value()];
    const double capacity = std::max(1.0, pool.spec.capacity.AsDouble());
    const double available = context.ledger.Available(id).AsDouble();
    const double peak = PeakWith(pool, growth[i], context.options, context.now);
    verdict.peak_share = std::max(verdict.peak_share, (peak + capacity - available) / capacity);
    const bool lone = pool.growth.members() == 0 && context.ledger.draining(id) == Amount(0);
    if (!lone && peak > context.options.fill_limit * available) verdict.fits = false;
  }
  if (replica.spec().pools.empty()) {
    const double rows = std::max(1, replica.spec().max_sequences);
    verdict.peak_share = static_cast<double>(replica.sequences() + 1) / rows;
  }
  return verdict;
}

}  // namespace penstock
