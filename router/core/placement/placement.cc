#include "router/core/placement/placement.h"

#include <algorithm>

namespace penstock {

bool Placement::CanAvoid(const RequestState& request, Tokens needed) const {
  if (request.waiting.avoid.empty()) return false;
  const std::vector<size_t>& servers = servers_.Of(request.arrived.model);
  return std::any_of(servers.begin(), servers.end(), [&](size_t index) {
    return !request.waiting.Avoids(index) && needed <= servers_.Longest(index) && fleet_.replicas()[index].Placeable();
  });
}

std::optional<WaitReason> Placement::Test(const RequestState& request, size_t index, Instant now) {
  const ReplicaState& replica = fleet_.replicas()[index];
  const Tokens prefill = std::max(Tokens(1), request.Prompt() - replica.HopeFor(request).expected);
  const GuardQuestion question = QuestionFor(request, prefill, replica, fleet_, now);
  if (const std::optional<WaitReason> broken = FirstBroken(guards_, question)) return broken;
  const size_t growth = growth_.size();
  const std::optional<double> peak_share = memory_.PeakShareWith(request, replica, now, growth_);
  if (!peak_share) return WaitReason::kMemory;
  choices_.push_back({index, *peak_share, question.outlook.ExpectedTtft(), prefill, growth});
  return std::nullopt;
}

std::optional<Choice> Placement::Choose(RequestState* request, Instant now) {
  const Tokens needed = servers_.LengthNeeded(*request);
  const bool can_avoid = CanAvoid(*request, needed);
  choices_.clear();
  growth_.clear();
  const std::vector<size_t>& among = search_.ReplicasToTry(request, needed);
  if (among.empty()) return std::nullopt;
  WaitReason reason = WaitReason::kNoReplicaUp;
  for (size_t index : among) {
    if (!fleet_.replicas()[index].Placeable() || needed > servers_.Longest(index)) continue;
    if (can_avoid && request->waiting.Avoids(index)) continue;
    if (const std::optional<WaitReason> broken = Test(*request, index, now)) reason = HigherRanked(reason, *broken);
  }
  if (!choices_.empty()) return BestOf(scores_, choices_);
  // A later try that met no replica says nothing new.
  WaitReason& reported = request->waiting.reason;
  if (reason != WaitReason::kNoReplicaUp || reported == WaitReason::kBehindOthers) reported = reason;
  return std::nullopt;
}

}  // namespace penstock
