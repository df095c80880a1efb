#include "router/core/admission/exits.h"

#include <algorithm>
#include <utility>

namespace penstock {

void Exits::SettleMemory(Instant now) {
  freed_.clear();
  rooms_.fleet.ledger().Settle(now, freed_);
  for (PoolId pool : freed_) rooms_.work.OpenPool(pool);
}

void Exits::LearnSession(const RequestState& request, const RequestClosed& event) {
  const uint64_t session = request.arrived.session;
  if (session == 0) return;
  const Tokens output(event.output.value() / request.arrived.sequences);
  rooms_.servers.sessions.Ended(session, request.running.replica, request.Prompt() + output);
  if (event.cached < Tokens(0)) return;
  rooms_.servers.sessions.Learn(session, request.running.hinted, event.cached - request.running.hope.All());
}

void Exits::End(RequestState* request, const RequestClosed& event, Instant now) {
  rooms_.placement.pairs.End(request, now);
  const ReplicaState& replica = rooms_.fleet.replica(request->running.replica);
  rooms_.forecasts.LearnFrom(request, event, replica.streams().Generated(*request));
  if (event.outcome == Outcome::kFinished) {
    rooms_.running.Finish(request, event.cached);
    LearnSession(*request, event);
  }
  rooms_.running.Leave(request, now);
  MemoryLedger& ledger = rooms_.fleet.ledger();
  if (event.outcome == Outcome::kClientGone && replica.spec().abort_hold > Duration()) {
    ledger.Drain(request->running.lease, now + replica.spec().abort_hold);
  } else {
    ledger.Release(request->running.lease);
    // Pools that the replica has left since: a reload moved it.
    const std::vector<PoolShare>& shares = replica.spec().pools;
    for (const PoolMembership& in : request->pools) {
      const bool still =
          std::any_of(shares.begin(), shares.end(), [&](const auto& share) { return share.pool == in.pool; });
      if (!still) rooms_.work.OpenPool(in.pool);
    }
  }
  rooms_.work.Open(replica);
}

void Exits::Close(const RequestClosed& event, Instant now) {
  RequestState* request = rooms_.requests.Find(event.request);
  if (request == nullptr) return;
  // Its replica still knows the steps that it ran.
  RequestClosed used = event;
  if (event.outcome == Outcome::kClientGone && event.output == Tokens(0)) {
    used.output = rooms_.forecasts.UnseenOutput(*request);
  }
  if (request->phase == RequestPhase::kWaiting) {
    rooms_.StopWaiting(request, now);
    rooms_.work.LetOthersPast(request->arrived.model);
  } else if (request->phase == RequestPhase::kAborting) {
    rooms_.placement.pairs.End(request, now);
    const Duration hold = rooms_.fleet.replica(request->running.replica).spec().abort_hold;
    rooms_.running.EndRecall(*request, now + hold);
  } else {
    End(request, event, now);
  }
  Lane& lane = rooms_.waiting.lane(request->arrived.model);
  lane.ClassOf(*request).waiting.Settle(*request, rooms_.Charge().Used(*request, used, now), now);
  rooms_.requests.Erase(event.request);
}

void Exits::TakeBack(RequestState* request, Instant now) {
  request->waiting.committed = true;
  const std::optional<AbortReason> reason = std::exchange(request->running.recalled_for, std::nullopt);
  if (reason == AbortReason::kEviction) {
    ++request->evictions;
    ++evicted_;
  }
  if (reason != AbortReason::kParking) return;
  Instant due = rooms_.lending.BeginLoan(request);
  if (rooms_.lending.closed()) due = std::min(due, now);
  request->waiting.parked = due > now;
  parked_ += request->waiting.parked ? 1 : 0;
  request->waiting.place = due;
}

void Exits::Requeue(const RequestRequeued& event, Instant now, std::vector<Action>& actions) {
  RequestState* request = rooms_.requests.Find(event.request);
  if (request == nullptr || request->phase == RequestPhase::kWaiting) return;
  WaitState& waiting = request->waiting;
  const ReplicaId left = request->running.replica;
  const ReplicaId failed = event.in_prefill ? rooms_.placement.pairs.ReplicaOf(*request).value_or(left) : left;
  rooms_.placement.pairs.End(request, now);
  const Instant free_at = now + rooms_.fleet.replica(request->running.replica).spec().abort_hold;
  const bool recalled = request->phase == RequestPhase::kAborting;
  if (recalled) {
    rooms_.running.EndRecall(*request, free_at);
  } else {
    if (request->phase == RequestPhase::kDecoding || event.generated > Tokens(0)) {
      waiting.begun = true;
      waiting.since = now;
    }
    rooms_.running.Leave(request, now);
    rooms_.fleet.ledger().Drain(request->running.lease, free_at);
  }
  SettleMemory(now);
  ++requeues_;
  ++request->requeues;
  request->kept = event.generated;
  if (recalled) TakeBack(request, now);
  request->pools.clear();
  if (event.avoid_replica && !waiting.Avoids(failed.value())) waiting.avoid.push_back(failed);
  waiting.reason = waiting.parked ? WaitReason::kParked : WaitReason::kBehindOthers;
  waiting.best_effort = false;
  waiting.ForgetTries();
  rooms_.forecasts.Prepare(request);
  request->service.only_some = rooms_.servers.OnlySomeTake(*request);
  rooms_.waiting.Push(request, waiting.parked ? waiting.place : rooms_.lateness.NextCheck(*request, now));
  const ModelId model = request->arrived.model;
  actions.push_back(Park{event.request, waiting.reason, rooms_.waiting.lane(model).PositionOf(*request, now)});
  rooms_.work.SetUnfinished(model, true);
  rooms_.work.Open(rooms_.fleet.replica(left));
}

}  // namespace penstock
