#include "router/core/admission/pump.h"

#include <algorithm>

namespace penstock {

void Pump::FindCandidates(ModelId model, Instant now) {
  Lane& lane = rooms_.waiting.lane(model);
  rooms_.reservations.Of(model, candidates_);
  const RunningCharges running = lane.Running();
  for (RequestState* request : candidates_) {
    request->waiting.reservation.held_back = !lane.ClassOf(*request).waiting.MayGo(*request, running, now);
  }
  std::erase_if(candidates_, [](const RequestState* request) { return request->waiting.reservation.held_back; });
  lane.Candidates(first_, now);
  for (RequestState* request : first_) {
    if (!request->waiting.reservation.replica) candidates_.push_back(request);
  }
}

void Pump::CheckAgain(RequestState* request, Instant check, Instant now) {
  rooms_.waiting.lane(request->arrived.model).SetBestEffort(request, rooms_.lateness.BestEffort(*request, now));
  rooms_.waiting.CheckAt(request, std::min(check, rooms_.placement.first_prefill.EndOf(*request)));
}

std::optional<size_t> Pump::MakeRoom(const RequestState& request, Instant now, std::vector<Action>& actions) {
  const Placement& tried = rooms_.placement;
  if (const auto lent = parking_.MakeRoom(request, tried.crowded(), now, actions)) return lent;
  return rooms_.MayDisplace(request) ? eviction_.MakeRoom(request, tried, now, actions) : std::nullopt;
}

bool Pump::TrySend(RequestState* request, Instant now, std::vector<Action>& actions) {
  const std::optional<Choice> choice = rooms_.placement.ChooseOrWait(request, now);
  if (!choice) return false;
  rooms_.StopWaiting(request, now);
  verdicts_.Send(request, *choice, now, actions);
  return true;
}

bool Pump::Place(RequestState* request, Instant now, std::vector<Action>& actions) {
  WorkList& work = rooms_.work;
  const ModelId model = request->arrived.model;
  const bool alone = rooms_.placement.first_prefill.EndWhereLost(request);
  if (alone || work.Missed(model, request->waiting.tried_at)) request->waiting.ForgetTries();
  request->waiting.tried_at = work.pump();
  if (TrySend(request, now, actions)) return true;
  if (request->waiting.company.replica) {
    CheckAgain(request, request->waiting.next_check, now);
    return false;
  }
  if (!rooms_.placement.TriedEverywhere(*request)) {
    work.SetUnfinished(model, true);
    return false;
  }
  if (request->stage.blocked) {
    // A prefill replica that opens pumps its lanes.
    request->waiting.reservation.held_back = true;
    return false;
  }
  const std::optional<size_t> room = MakeRoom(*request, now, actions);
  if (!room) {
    reserver_.OnBlocked(request, now);
    return false;
  }
  rooms_.floors.Update(std::span(&*room, 1), now);
  // Memory is free once the engine has freed it, a batch row at once.
  const std::vector<size_t>& rows = rooms_.placement.without_rows();
  if (std::find(rows.begin(), rows.end(), *room) == rows.end()) return false;
  request->waiting.ForgetTries();
  if (TrySend(request, now, actions)) return true;
  if (!rooms_.placement.TriedEverywhere(*request)) work.SetUnfinished(model, true);
  return false;
}

size_t Pump::TryLane(ModelId model, Instant now, std::vector<Action>& actions) {
  WorkList& work = rooms_.work;
  work.SetUnfinished(model, false);
  blocked_.clear();
  bool progress = true;
  while (progress && !rooms_.waiting.lane(model).empty()) {
    progress = false;
    FindCandidates(model, now);
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
      if (request->waiting.best_effort) CheckAgain(request, rooms_.lateness.NextCheck(*request, now), now);
      if (!rooms_.WaitsForOthers(*request, now) && Place(request, now, actions)) {
        progress = true;
      } else {
        request->service.only_some = rooms_.servers.OnlySomeTake(*request);
        blocked_.push_back(request);
      }
    }
  }
  return blocked_.size();
}

void Pump::ExcuseBlocked(ModelId model) {
  Lane& lane = rooms_.waiting.lane(model);
  const bool idle = lane.Running().none();
  for (RequestState* request : blocked_) {
    if (request->service.excused || request->waiting.best_effort) continue;
    const bool by_choice = request->waiting.company.replica.has_value();
    // The bound would hold others off servers that the request can never use.
    const bool apart = request->service.only_some || rooms_.Stranded(*request);
    const bool hopeless = rooms_.placement.TriedEverywhere(*request) && (idle || apart);
    if (!by_choice && !hopeless) continue;
    lane.ClassOf(*request).waiting.Excuse(request);
    rooms_.work.SetUnfinished(model, true);
  }
}

void Pump::PumpLane(ModelId model, Instant now, std::vector<Action>& actions) {
  rooms_.work.StartPump();
  const size_t tried = TryLane(model, now, actions);
  if (rooms_.waiting.lane(model).HoldsBack(now)) ExcuseBlocked(model);
  rooms_.work.EndPump(model, static_cast<int64_t>(tried) < rooms_.waiting.lane(model).ready());
}

void Pump::PumpOpened(Instant now, std::vector<Action>& actions) {
  WorkList& work = rooms_.work;
  // In the order of replicas, whatever order they changed in.
  work.SortOpened();
  for (size_t index : work.opened()) {
    rooms_.servers.UpdateBrief(index, now);
    for (ModelId model : rooms_.fleet.replicas()[index].spec().models) work.SetUnfinished(model, true);
  }
  rooms_.floors.Update(work.opened(), now);
  for (uint32_t i = 0; i < rooms_.waiting.lanes(); ++i) {
    const ModelId model(i);
    const bool unserved = rooms_.servers.Of(model).empty() && rooms_.waiting.lane(model).ready() > 0;
    if (work.Unfinished(model) || unserved) PumpLane(model, now, actions);
  }
  work.ClearOpened();
}

void Pump::RefuseAll(ModelId model, Refusal reason, Instant now, std::vector<Action>& actions) {
  const Lane& lane = rooms_.waiting.lane(model);
  while (!lane.empty() && rooms_.work.Spend(kRefusalTries)) {
    verdicts_.RefuseWaiting(lane.First(), reason, now, actions);
  }
}

void Pump::RefuseUnserved(ModelId model, Instant now, std::vector<Action>& actions) {
  const Lane& lane = rooms_.waiting.lane(model);
  if (lane.ready() == 0 || !rooms_.servers.DownForGood(model, now)) return;
  while (lane.ready() > 0 && rooms_.work.Spend(kRefusalTries)) {
    verdicts_.RefuseWaiting(lane.FirstReady(), Refusal::kNoReplica, now, actions);
  }
}

void Pump::RefuseLate(Instant now, std::vector<Action>& actions) {
  WorkList& work = rooms_.work;
  for (uint32_t i = 0; i < rooms_.waiting.lanes(); ++i) RefuseUnserved(ModelId(i), now, actions);
  for (;;) {
    const auto first = rooms_.waiting.FirstCheck();
    if (!first || first->first > now || !work.Spend(kRefusalTries)) return;
    RequestState* request = rooms_.requests.Find(first->second);
    const ModelId model = request->arrived.model;
    if (request->waiting.parked) {
      rooms_.waiting.Return(request, now);
      work.SetUnfinished(model, true);
    }
    if (rooms_.placement.first_prefill.EndOf(*request) <= now) {
      rooms_.placement.first_prefill.End(request);
      request->waiting.ForgetTries();
      work.SetUnfinished(model, true);
    }
    if (const std::optional<Refusal> reason = rooms_.lateness.ReasonOf(request, now)) {
      work.LetOthersPast(model);
      verdicts_.RefuseWaiting(request, *reason, now, actions);
    } else if (verdicts_.RefusesEarly(request, now, actions)) {
      work.LetOthersPast(model);
    } else {
      CheckAgain(request, rooms_.early.NextCheckAfter(*request, now), now);
    }
  }
}

Instant Pump::NextDue(Instant now) const {
  Instant next = Instant::Never();
  if (const auto first = rooms_.waiting.FirstCheck()) next = first->first;
  for (uint32_t i = 0; i < rooms_.waiting.lanes(); ++i) {
    const ModelId model(i);
    if (rooms_.waiting.lane(model).empty()) continue;
    if (rooms_.work.Unfinished(model)) next = std::min(next, now);
    if (rooms_.waiting.lane(model).ready() > 0) next = std::min(next, rooms_.servers.OutageEnd(model, now));
  }
  return next;
}

}  // namespace penstock
