#include "router/core/admission/pump.h"

#include <algorithm>

namespace penstock {
namespace {

// A head that waited for memory for this long, and whose wait no deadline will end, stops others from going past it.
// With deadlines, looking past is enough. Untuned: no table in bench/results varies it.
constexpr Duration kStarving = Duration::Seconds(10);

}  // namespace

bool Pump::Starves(const RequestState& request, Instant now) const {
  return request.waiting.reason == WaitReason::kMemory && !rooms_.fleet.GoalsOf(request).refuse_late &&
         now - request.arrival > kStarving && rooms_.placement.TriedEverywhere(request);
}

size_t Pump::TryLane(ModelId model, Instant now, std::vector<Action>& actions) {
  WorkList& work = rooms_.work;
  Lane& lane = rooms_.waiting.lane(model);
  work.SetUnfinished(model, false);
  blocked_.clear();
  bool progress = true;
  while (progress && !lane.empty() && blocked_.size() <= kLookPast) {
    progress = false;
    lane.Candidates(candidates_);
    for (RequestState* request : candidates_) {
      if (std::find(blocked_.begin(), blocked_.end(), request) != blocked_.end()) continue;
      if (const std::optional<Refusal> late = rooms_.lateness.ReasonOf(request, now)) {
        if (!work.Spend(kRefusalTries)) {
          work.SetUnfinished(model, true);
          return blocked_.size();
        }
        verdicts_.RefuseWaiting(request, *late, now, actions);
        progress = true;
        continue;
      }
      if (work.Missed(model, request->waiting.tried_at)) request->waiting.ForgetTries();
      request->waiting.tried_at = work.pump();
      if (const std::optional<Choice> choice = rooms_.placement.Choose(request, now)) {
        rooms_.waiting.Remove(request);
        verdicts_.Send(request, *choice, now, actions);
        progress = true;
        continue;
      }
      blocked_.push_back(request);
      if (!rooms_.placement.TriedEverywhere(*request)) work.SetUnfinished(model, true);
      if (Starves(*request, now)) return blocked_.size();
    }
  }
  return blocked_.size();
}

void Pump::PumpLane(ModelId model, Instant now, std::vector<Action>& actions) {
  rooms_.work.StartPump();
  const size_t tried = TryLane(model, now, actions);
  rooms_.work.EndPump(model, static_cast<int64_t>(tried) < rooms_.waiting.lane(model).size());
}

void Pump::PumpOpened(Instant now, std::vector<Action>& actions) {
  WorkList& work = rooms_.work;
  // In the order of replicas, whatever order they changed in.
  work.SortOpened();
  for (size_t index : work.opened()) {
    rooms_.servers.UpdateBrief(index, now);
    for (ModelId model : rooms_.fleet.replicas()[index].spec().models) work.SetUnfinished(model, true);
  }
  for (uint32_t i = 0; i < rooms_.waiting.lanes(); ++i) {
    const ModelId model(i);
    const bool unserved = rooms_.servers.Of(model).empty() && !rooms_.waiting.lane(model).empty();
    if (work.Unfinished(model) || unserved) PumpLane(model, now, actions);
  }
  work.ClearOpened();
}

void Pump::RefuseLate(Instant now, std::vector<Action>& actions) {
  WorkList& work = rooms_.work;
  for (uint32_t i = 0; i < rooms_.waiting.lanes(); ++i) {
    const ModelId model(i);
    const Lane& lane = rooms_.waiting.lane(model);
    while (!lane.empty() && rooms_.servers.DownForGood(model, now) && work.Spend(kRefusalTries)) {
      verdicts_.RefuseWaiting(lane.First(), Refusal::kNoReplica, now, actions);
    }
  }
  for (;;) {
    const auto first = rooms_.waiting.FirstCheck();
    if (!first || first->first > now || !work.Spend(kRefusalTries)) return;
    RequestState* request = rooms_.requests.Find(first->second);
    if (const std::optional<Refusal> reason = rooms_.lateness.ReasonOf(request, now)) {
      work.LetOthersPast(request->arrived.model);
      verdicts_.RefuseWaiting(request, *reason, now, actions);
    } else {
      rooms_.waiting.CheckAt(request, rooms_.lateness.NextCheckAfter(*request, now));
    }
  }
}

Instant Pump::NextDue(Instant now) const {
  Instant next = Instant::Never();
  if (const auto first = rooms_.waiting.FirstCheck()) next = first->first;
  for (uint32_t i = 0; i < rooms_.waiting.lanes(); ++i) {
    const ModelId model(i);
    if (rooms_.waiting.lane(model).empty()) continue;
    next = std::min(next, rooms_.work.Unfinished(model) ? now : rooms_.servers.OutageEnd(model, now));
  }
  return next;
}

}  // namespace penstock
