#include "router/core/admission/entry.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "router/core/contract/admission_checks.h"

namespace penstock {

std::optional<Refuse> Entry::NeverFits(const RequestState& request) const {
  FitCheck check(request.arrived, request.Prompt());
  for (size_t index : rooms_.servers.Of(request.arrived.model)) {
    check.Add(rooms_.fleet.replicas()[index].spec(), rooms_.servers.Longest(index));
    if (check.fits()) return std::nullopt;
  }
  return check.Finding();
}

std::optional<Refuse> Entry::NeverServed(const RequestState& request, Instant now) const {
  const RequestArrived& arrived = request.arrived;
  if (shutting_down_) return ShutdownRefusal(arrived.request);
  if (const std::optional<Refuse> refusal = NeverFits(request)) return refusal;
  const bool down =
      arrived.home ? rooms_.servers.HomeDownForGood(arrived, now) : rooms_.servers.DownForGood(arrived.model, now);
  if (!down) return std::nullopt;
  return verdicts_.NoReplica(arrived);
}

bool Entry::TryNow(RequestState* request, int64_t position, Instant now, std::vector<Action>& actions) {
  // The arrival made no other request of the lane placeable: only the newcomer is tried, in its turn.
  const ModelId model = request->arrived.model;
  if (position > kLookPast) {
    rooms_.work.MarkUntried(model);
    // A pump skips those ahead that only some servers can take.
    const RequestState& head = *rooms_.waiting.lane(model).of(request->arrived.service_class).Head();
    if (head.service.only_some && !request->service.only_some) rooms_.work.SetUnfinished(model, true);
    return false;
  }
  if (rooms_.WaitsForOthers(*request, now)) return false;
  request->waiting.tried_at = rooms_.work.pump();
  if (const std::optional<Choice> choice = rooms_.placement.ChooseOrWait(request, now)) {
    verdicts_.Send(request, *choice, now, actions);
    return true;
  }
  if (request->waiting.company.replica) return false;
  // A pump follows at once where the search goes on, or where others may have to make room.
  const bool crowded = !rooms_.placement.crowded().empty() || !rooms_.placement.without_rows().empty();
  if (crowded && !request->stage.blocked && rooms_.MayDisplace(*request)) request->waiting.ForgetTries();
  if (!rooms_.placement.TriedEverywhere(*request)) rooms_.work.SetUnfinished(model, true);
  return false;
}

void Entry::Begin(const RequestArrived& event, Instant arrived, RequestState* request) {
  request->arrived = event;
  const auto last = static_cast<uint32_t>(rooms_.fleet.spec().classes.size() - 1);
  request->arrived.service_class = ClassId(std::min(event.service_class.value(), last));
  request->arrival = arrived;
  request->waiting.since = arrived;
  request->sequence = next_sequence_++;
}

RequestState* Entry::Add(const RequestArrived& event, Instant arrived, Instant now) {
  auto owned = std::make_unique<RequestState>();
  Begin(event, arrived, owned.get());
  RequestState* request = rooms_.requests.Add(std::move(owned));
  rooms_.forecasts.Prepare(request);
  request->waiting.cached = rooms_.servers.MostCached(*request);
  request->hint = rooms_.servers.sessions.Find(event.session);
  if (rooms_.servers.priced()) request->output.expected = rooms_.forecasts.ExpectedOutput(*request);
  request->service.expected = rooms_.Charge().Expected(*request);
  request->waiting.best_effort = rooms_.lateness.BestEffort(*request, now);
  request->service.only_some = rooms_.servers.OnlySomeTake(*request);
  return request;
}

void Entry::Admit(const RequestArrived& event, Instant now, std::vector<Action>& actions) {
  auto owned = std::make_unique<RequestState>();
  Begin(event, now, owned.get());
  if (const std::optional<Refuse> refusal = NeverServed(*owned, now)) {
    actions.push_back(*refusal);
    return;
  }
  RequestState* request = rooms_.requests.Add(std::move(owned));
  rooms_.forecasts.Prepare(request);
  request->waiting.cached = rooms_.servers.MostCached(*request);
  rooms_.placement.pairs.Prepare(request);
  request->hint = rooms_.servers.sessions.Find(event.session);
  if (rooms_.servers.priced()) request->output.expected = rooms_.forecasts.ExpectedOutput(*request);
  request->waiting.place =
      rooms_.order->PlaceOf({*request, rooms_.fleet.GoalsOf(*request), rooms_.servers, rooms_.forecasts, now});
  request->service.expected = rooms_.Charge().Expected(*request);
  request->waiting.best_effort = rooms_.lateness.BestEffort(*request, now);
  request->service.only_some = rooms_.servers.OnlySomeTake(*request);
  rooms_.fleet.storage.Arrived(event, now);
  verdicts_.Arrived(request, now);
  const int64_t position = rooms_.waiting.lane(event.model).PositionOf(*request, now);
  if (TryNow(request, position, now, actions)) return;
  const Instant check = std::min(rooms_.early.NextCheck(*request, now), rooms_.placement.first_prefill.EndOf(*request));
  rooms_.waiting.Push(request, check);
  rooms_.early.Waits(request, now);
  if (verdicts_.RefusesEarly(request, now, actions)) return;
  if (rooms_.waiting.OverLimits(rooms_.fleet.spec().limits)) {
    verdicts_.RefuseWaiting(request, Refusal::kQueueFull, now, actions);
  } else {
    actions.push_back(Park{event.request, request->waiting.reason, position});
  }
}

}  // namespace penstock
