#include "router/core/penstock_core.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "router/core/admission/following.h"
#include "router/core/admission/memory_waits.h"
#include "router/core/shares/elastic_use.h"

namespace penstock {

PenstockCore::PenstockCore(CoreRules rules) : PenstockCore(rules.events_per_recount, rules.grey, std::move(rules)) {}

PenstockCore::PenstockCore(int64_t events_per_recount, bool grey, CoreRules&& rules)
    : rooms_(std::move(rules)),
      verdicts_(rooms_),
      recalls_(rooms_.fleet, rooms_.running),
      relief_(rooms_.fleet, recalls_),
      parking_(rooms_.fleet, rooms_.forecasts, rooms_.lending, rooms_.requests, recalls_),
      eviction_(rooms_.fleet, rooms_.lending, rooms_.memory, recalls_),
      entry_(rooms_, verdicts_),
      exits_(rooms_),
      pump_(rooms_, verdicts_, parking_, eviction_),
      books_(rooms_, events_per_recount),
      residents_(rooms_.fleet, rooms_.servers, rooms_.waiting, rooms_.forecasts, rooms_.work),
      shares_(rooms_.fleet, rooms_.servers, rooms_.waiting, rooms_.forecasts),
      adapters_(rooms_.fleet, rooms_.servers, rooms_.waiting, rooms_.work),
      slow_{GreyWatch(rooms_.fleet, rooms_.work, grey), NodeWatch(rooms_.fleet, rooms_.work)} {}

void PenstockCore::Apply(const Event& event, Instant now, Actions& actions) {
  now_ = std::max(now_, now);
  rooms_.work.StartEvent();
  recalls_.StartEvent(now_);
  parking_.StartEvent();
  eviction_.StartEvent();
  exits_.SettleMemory(now_);
  rooms_.fleet.TickRisk(now_);
  slow_.grey.Review(now_);
  const auto take = [&](const auto& concrete) {
    using Concrete = std::decay_t<decltype(concrete)>;
    if constexpr (std::is_same_v<Concrete, NodeReport>) {
      slow_.nodes.Told(concrete);
    } else if constexpr (std::is_same_v<Concrete, PrefillEnded>) {
      rooms_.placement.pairs.Ended(concrete, now_);
    } else if constexpr (std::is_same_v<Concrete, CacheReport>) {
      ReportCache(rooms_.fleet, concrete);
    } else if constexpr (std::is_same_v<Concrete, AdapterResidency>) {
      adapters_.Told(concrete, now_);
    } else {
      On(concrete, actions);
    }
  };
  std::visit(take, event);
  // An arrival opens nothing, and has its one answer.
  if (!std::holds_alternative<RequestArrived>(event)) pump_.PumpOpened(now_, actions);
  residents_.Review(now_, actions);
  adapters_.Review(now_, actions);
  rooms_.fleet.ledger().RememberHeld(now_);
  books_.AfterEvent();
}

void PenstockCore::On(const RequestArrived& event, Actions& actions) {
  // Memory whose drain is over goes to the waiting requests first.
  pump_.PumpOpened(now_, actions);
  entry_.Admit(event, now_, actions);
  if (residents_.any()) residents_.Arrived(rooms_.requests.Find(event.request), now_);
  if (adapters_.any()) adapters_.Arrived(rooms_.requests.Find(event.request));
}

void PenstockCore::On(const FirstToken& event, Actions&) {
  RequestState* request = rooms_.requests.Find(event.request);
  if (request == nullptr || !rooms_.running.TakeFirstToken(request, now_)) return;
  rooms_.placement.pairs.HandedOver(request, now_);
  rooms_.work.Open(rooms_.fleet.replica(request->running.replica));
}

void PenstockCore::On(const RequestClosed& event, Actions&) {
  const bool finished = event.outcome == Outcome::kFinished;
  if (residents_.any()) residents_.Leaves(rooms_.requests.Find(event.request), now_, finished);
  if (adapters_.any()) adapters_.Leaves(rooms_.requests.Find(event.request), now_);
  exits_.Close(event, now_);
}

void PenstockCore::On(const RequestRequeued& event, Actions& actions) {
  if (residents_.any()) residents_.Leaves(rooms_.requests.Find(event.request), now_);
  if (adapters_.any()) adapters_.Leaves(rooms_.requests.Find(event.request), now_);
  exits_.Requeue(event, now_, actions);
}

void PenstockCore::On(const AnswerFixed& event, Actions&) {
  // The memory of an abort that is declined goes on draining until the request ends.
  RequestState* request = rooms_.requests.Find(event.request);
  if (request == nullptr) return;
  request->arrived.continues = false;
  request->running.recalled_for.reset();
}

void PenstockCore::On(const Progress& event, Actions& actions) {
  rooms_.running.Advance(event, now_);
  const size_t refreshed = std::max<size_t>(1, kRefreshPerEvent / std::max<size_t>(1, event.replicas.size()));
  for (const ReplicaProgress& progress : event.replicas) {
    if (!rooms_.fleet.Knows(progress.replica)) continue;
    ReplicaState& replica = rooms_.fleet.replica(progress.replica);
    slow_.grey.Stepped(replica, now_);
    rooms_.running.CatchUp(replica, refreshed, now_);
    relief_.Protect(replica, now_, actions);
    parking_.Relieve(replica, now_, actions);
    rooms_.fleet.CheckForecasts(replica, now_);
    rooms_.work.Open(replica);
  }
}

void PenstockCore::On(const EngineReport& event, Actions&) {
  if (!rooms_.fleet.Knows(event.replica)) return;
  rooms_.fleet.Report(event);
  rooms_.work.Open(rooms_.fleet.replica(event.replica));
}

void PenstockCore::On(const ReplicaHealth& event, Actions&) {
  if (!rooms_.fleet.Knows(event.replica)) return;
  rooms_.servers.SetHealth(event.replica, event.health, now_);
  slow_.grey.HealthChanged(rooms_.fleet.replica(event.replica));
  slow_.nodes.Revise();
  residents_.Touch();
  adapters_.Touch();
  rooms_.work.Open(rooms_.fleet.replica(event.replica));
}

void PenstockCore::On(const ReplicaResidency& event, Actions&) { residents_.Told(event, now_); }

void PenstockCore::On(const ElasticReport& event, Actions& actions) {
  if (!rooms_.fleet.Knows(event.replica)) return;
  TakeElasticReport(event, rooms_.fleet);
  rooms_.work.Open(rooms_.fleet.replica(event.replica));
  shares_.Told(event, now_, actions);
}

void PenstockCore::On(const FleetChanged& event, Actions&) {
  rooms_.Configure(event.fleet, now_);
  verdicts_.Configure();
  residents_.Configure(now_);
  KeepElasticReports(rooms_.fleet);
  shares_.Configure();
  adapters_.Configure(now_);
  slow_.grey.Configure();
  slow_.nodes.Configure();
}

void PenstockCore::On(const ShutdownStarted&, Actions&) {
  entry_.ShutDown();
  // A parked stream would keep the router from its end although nothing new needs the memory.
  rooms_.lending.Close();
  rooms_.waiting.CheckParked(now_);
}

void PenstockCore::On(const TimerFired&, Actions& actions) {
  pump_.RefuseLate(now_, actions);
  for (const ModelId model : adapters_.hopeless()) pump_.RefuseAll(model, Refusal::kAdapterFailed, now_, actions);
  if (!rooms_.running.TakeForecastTick(now_)) return;
  rooms_.placement.pairs.Review(now_);
  for (ReplicaState& replica : rooms_.fleet.replicas()) {
    if (replica.load.unobserved == 0) continue;
    rooms_.running.CatchUp(replica, kRefreshPerEvent, now_);
    rooms_.work.Open(replica);
  }
}

std::optional<Instant> PenstockCore::NextDeadline() const {
  Instant next = std::min(rooms_.fleet.ledger().NextSettle(), pump_.NextDue(now_));
  next = std::min({next, residents_.NextDue(), adapters_.NextDue(), slow_.grey.NextDue(), rooms_.running.NextDue()});
  if (next >= Instant::Never()) return std::nullopt;
  return next;
}

std::optional<Forward> PenstockCore::Follow(const FollowedRequest& followed, Instant now) {
  now_ = std::max(now_, now);
  const RequestId id = followed.request.request;
  if (residents_.any()) residents_.Leaves(rooms_.requests.Find(id), now_);
  const bool again = WithdrawRequest(rooms_, id, now_);
  if (!rooms_.fleet.Knows(followed.replica)) return std::nullopt;
  const Forward forward = AdoptRequest(rooms_, entry_, verdicts_, followed, again, now_);
  if (residents_.any() && !again) residents_.Arrived(rooms_.requests.Find(id), now_);
  if (adapters_.any()) adapters_.Arrived(rooms_.requests.Find(id));
  books_.AfterEvent();
  return forward;
}

void PenstockCore::Withdraw(RequestId request, Instant now) {
  now_ = std::max(now_, now);
  if (residents_.any()) residents_.Leaves(rooms_.requests.Find(request), now_);
  if (adapters_.any()) adapters_.Leaves(rooms_.requests.Find(request), now_);
  WithdrawRequest(rooms_, request, now_);
  books_.AfterEvent();
}

std::string PenstockCore::CheckBooks() const {
  const std::string drift = books_.FirstDrift();
  return drift.empty() ? residents_.FirstDrift() : drift;
}

CoreView PenstockCore::View(Instant now) const {
  CoreView view;
  rooms_.fleet.Show(view, now);
  residents_.Show(view);
  shares_.Show(view);
  slow_.grey.Show(view);
  slow_.nodes.Show(view);
  rooms_.waiting.Show(rooms_.fleet.spec(), view, now);
  rooms_.forecasts.Show(view);
  rooms_.running.Show(view);
  view.counters.aborts = relief_.aborts();
  view.counters.requeues = exits_.requeues();
  view.counters.parked = exits_.parked();
  view.counters.evicted = exits_.evicted();
  view.counters.hinted = verdicts_.hinted();
  view.counters.book_drifts = books_.drifts();
  return view;
}

std::optional<WaitView> PenstockCore::WaitOf(RequestId id) const {
  const RequestState* request = rooms_.requests.Find(id);
  if (request == nullptr || request->phase != RequestPhase::kWaiting) return std::nullopt;
  return WaitView{request->waiting.reason, rooms_.waiting.lane(request->arrived.model).PositionOf(*request, now_)};
}

MemoryWaits PenstockCore::FindMemoryWaits(Instant now) const { return MemoryWaitsOf(rooms_, now); }

std::optional<Tokens> PenstockCore::UnseenOutput(RequestId id) const {
  const RequestState* request = rooms_.requests.Find(id);
  if (request == nullptr) return std::nullopt;
  return rooms_.forecasts.UnseenOutput(*request);
}

}  // namespace penstock
