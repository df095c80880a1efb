#include "router/core/placement/placement.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "router/core/placement/hints.h"
#include "router/core/placement/money.h"

namespace penstock {

double OwnStepsAt(size_t index, const RequestState& request, const FleetState& fleet, const Servers& servers) {
  const ReplicaState& replica = fleet.replicas()[index];
  if (!replica.spec().time_sliced || servers.Of(request.arrived.model).size() > kSmallFleet) return 0;
  const double full = replica.busy() ? kEvenFrom : 1;
  const bool beside_copy = absl::c_any_of(fleet.NeighboursOf(replica), [&](size_t other) {
    const ReplicaSpec& spec = fleet.replicas()[other].spec();
    const bool copy = spec.gpus == replica.spec().gpus && absl::c_linear_search(spec.models, request.arrived.model);
    return other < index && copy && servers.brief(other).fullness < full;
  });
  return beside_copy ? kOwnSteps * replica.steps_model().DecodeStep(1, 0, fleet.BusyNeighbours(replica)) : 0;
}

bool Placement::CanAvoid(const RequestState& request, Tokens needed) const {
  if (request.waiting.avoid.empty() || request.arrived.home) return false;
  const std::vector<size_t>& servers = servers_.Of(request.arrived.model);
  return std::any_of(servers.begin(), servers.end(), [&](size_t index) {
    return !request.waiting.Avoids(index) && needed <= servers_.Longest(index) &&
           fleet_.replicas()[index].Placeable() && fleet_.replicas()[index].presence.Has(request.arrived.model);
  });
}

bool Placement::HasOpenServer(const RequestState& request, Tokens needed, bool can_avoid) const {
  const std::vector<size_t>& servers = servers_.Of(request.arrived.model);
  return std::any_of(servers.begin(), servers.end(), [&](size_t index) {
    const ReplicaState& server = fleet_.replicas()[index];
    return !server.facts.node.closed && request.MayUse(index) && needed <= servers_.Longest(index) &&
           server.Placeable() && !server.facts.grey.stalled && server.presence.Has(request.arrived.model) &&
           !(can_avoid && request.waiting.Avoids(index));
  });
}

double Placement::StorageFactor(const RequestState& request, const ReplicaState& replica, Instant now) const {
  const StorageFit fit = fleet_.storage.FitOf(request.arrived, now);
  if (fit.need == StorageNeed::kNone) return 1;
  const NodeFacts& node = replica.facts.node;
  NodeResidual left;
  left.storage = 1 - node.storage_pressure;
  left.io_cpu = 1 - node.cpu_pressure;
  const double under_way = fleet_.storage.UnderWay(fleet_.PositionOf(replica));
  return fit.FullerBy(left, under_way, replica.steps_model().derate() == 1);
}

std::optional<WaitReason> Placement::Test(const RequestState& request, size_t index, Instant now, Instant due) {
  const ReplicaState& replica = fleet_.replicas()[index];
  const GuardQuestion question = QuestionFor(request, replica, fleet_, now);
  const double first_token = question.outlook.ExpectedTtft();
  if (due != Instant::Never() && now + Duration::Seconds(first_token) > due) return WaitReason::kFirstToken;
  if (const std::optional<WaitReason> broken = FirstBroken(guards_, question)) {
    if (broken == WaitReason::kSequences) without_rows_.push_back(index);
    if (broken == WaitReason::kRunningStreams) floors_.CloseUntil(index, StreamsCloseUntil(replica, fleet_, now));
    return broken;
  }
  const size_t growth = growth_.size();
  const std::optional<double> peak_share = memory_.PeakShareWith(request, replica, now, growth_);
  if (!peak_share) {
    crowded_.push_back(index);
    return WaitReason::kMemory;
  }
  const PrefillPrice& price = question.outlook.price;
  const double hinted = request.hint.trust * HintedTokens(request, index, replica).AsDouble();
  const Tokens cached = question.cached + Tokens(static_cast<int64_t>(hinted));
  const double saved = price.Of(PrefillOf(Tokens(0), cached)) - question.outlook.load;
  // A pool holds so many prompts like this one.
  const PrefillWork whole = request.PrefillAfter(Tokens(0));
  const double pool_seconds = price.Of(whole) * TokensOfSmallestPool(replica, fleet_) / whole.tokens.AsDouble();
  // A slow replica counts as so much fuller: it gets less in proportion.
  const bool tried = !replica.busy() && replica.facts.grey.TakesTrial(now);
  const double share = *peak_share * (tried ? replica.facts.node.derate : replica.steps_model().derate()) *
                       StorageFactor(request, replica, now);
  const double output = request.output.expected;
  const double money = output > 0 ? MoneyOf(question, output, share) : 0;
  choices_.push_back(
      {index, share, first_token, saved, pool_seconds, growth, OwnStepsAt(index, request, fleet_, servers_), money});
  return std::nullopt;
}

Choice Placement::At(const RequestState& request, size_t index, Instant now) {
  choices_.clear();
  growth_.clear();
  const ReplicaState& replica = fleet_.replicas()[index];
  const GuardQuestion question = QuestionFor(request, replica, fleet_, now);
  const double peak_share = memory_.PeakShareAnyway(request, replica, now, growth_);
  return {index, peak_share, question.outlook.ExpectedTtft(), 0, 0, 0};
}

std::optional<Choice> Placement::Choose(RequestState* request, Instant now, Instant due) {
  const Tokens needed = servers_.LengthNeeded(*request);
  const bool can_avoid = CanAvoid(*request, needed);
  choices_.clear();
  crowded_.clear();
  without_rows_.clear();
  growth_.clear();
  if (!search_.Begin(request, needed, now)) return std::nullopt;
  WaitReason reason = WaitReason::kNoReplicaUp;
  std::optional<size_t> best;  // In choices_.
  std::optional<bool> spares;  // Looked up at the first replica whose node is closed.
  while (const std::optional<size_t> index = search_.Next(best ? &choices_[*best] : nullptr)) {
    const ReplicaState& replica = fleet_.replicas()[*index];
    if (needed > servers_.Longest(*index)) continue;
    if (!replica.Placeable()) {
      if (servers_.brief(*index).IsAway()) reason = HigherRanked(reason, WaitReason::kWaking);
      continue;
    }
    if (!replica.presence.Has(request->arrived.model)) {
      reason = HigherRanked(reason, WaitReason::kLoadingAdapter);
      continue;
    }
    if (can_avoid && request->waiting.Avoids(*index)) continue;
    if (replica.facts.node.closed) {
      if (!spares) spares = HasOpenServer(*request, needed, can_avoid);
      if (*spares) continue;
    }
    if (const std::optional<WaitReason> broken = Test(*request, *index, now, due)) {
      reason = HigherRanked(reason, *broken);
    } else if (!best || IsBetter(scores_, choices_.back(), choices_[*best], search_.price().value_or(0))) {
      best = choices_.size() - 1;
    }
  }
  if (best) return BestOf(scores_, choices_, search_.price().value_or(PriceAmong(choices_)));
  reason = HigherRanked(reason, search_.closed());
  // A later try that met no replica says nothing new.
  WaitReason& reported = request->waiting.reason;
  if (reason != WaitReason::kNoReplicaUp || reported == WaitReason::kBehindOthers) reported = reason;
  return std::nullopt;
}

}  // namespace penstock
