#include "router/core/accounts/work_book.h"

#include <algorithm>
#include <variant>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// A longer answer is none; due times stay in range.
constexpr int64_t kMostTokens = 1'000'000;

}  // namespace

void WorkBook::Observe(const Event& event, Instant now, const std::vector<Action>& actions) {
  now_ = now;
  if (const auto* health = std::get_if<ReplicaHealth>(&event)) {
    accounts_.SetDown(health->replica.value(), health->health == Health::kDown, now);
  } else if (const auto* residency = std::get_if<ReplicaResidency>(&event)) {
    accounts_.SetAsleep(residency->replica.value(), residency->residency != Residency::kAwake, now);
  } else {
    std::visit(
        [this](const auto& concrete) {
          if constexpr (requires { this->On(concrete); }) On(concrete);
        },
        event);
  }
  for (const Action& action : actions) {
    if (const auto* forward = std::get_if<Forward>(&action)) {
      On(*forward);
    } else if (const auto* park = std::get_if<Park>(&action)) {
      On(*park);
    } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
      On(*refuse);
    } else if (const auto* sleep = std::get_if<Sleep>(&action)) {
      accounts_.SetAsleep(sleep->replica.value(), true, now);
    }
  }
}

void WorkBook::Sample(std::span<const int64_t> late, const MemoryWaits& waits, Instant now) {
  now_ = now;
  accounts_.SetMemoryWaits(waits.models, now);
  while (!timers_.empty() && timers_.begin()->at < now) {
    const Timer timer = *timers_.begin();
    timers_.erase(timers_.begin());
    EndOf(timer);
  }
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const int64_t seen = i < late.size() ? late[i] : 0;
    if (replicas_[i].decoding_late == seen) continue;
    replicas_[i].decoding_late = seen;
    Publish(ReplicaId(static_cast<uint32_t>(i)));
  }
}

void WorkBook::EndOf(const Timer& timer) {
  if (timer.ghost) {
    Replica& replica = replicas_[timer.replica.value()];
    if (replica.generation != timer.generation) return;
    --replica.for_nobody;
    return Publish(timer.replica);
  }
  const auto found = requests_.find(RequestId(timer.number));
  if (found == requests_.end()) return;
  found->second.late = true;
  if (Replica* replica = At(found->second.replica)) ++replica->prefilling_late;
  Publish(found->second.replica);
}

void WorkBook::On(const RequestArrived& event) {
  Request request;
  request.model = event.model;
  request.prompt = event.prompt;
  request.sequences = std::max(1, event.sequences);
  request.visible = event.observed || event.embedding;
  request.due = Instant::Never();
  if (event.service_class.value() < classes_.size()) {
    const ClassSpec& goals = classes_[event.service_class.value()];
    request.tpot = goals.tpot;
    const int64_t tokens = request.visible ? 0 : std::min(event.max_output.value(), kMostTokens);
    if (request.visible || tokens > 0) request.due = now_ + goals.ttft + goals.tpot * tokens;
  }
  requests_.insert_or_assign(event.request, request);
}

void WorkBook::On(const Forward& action) {
  const auto found = requests_.find(action.request);
  if (found == requests_.end()) return;
  Request& request = found->second;
  Leave(action.request, request);
  const ReplicaId first = action.prefill ? action.prefill->replica : action.replica;
  if (At(first) == nullptr) return;
  if (request.begun) recomputed_tokens_ += (request.prompt + request.generated).value();
  request.replica = first;
  request.answers = action.replica;
  request.stage = Stage::kPrefilling;
  request.late = false;
  const bool ever = request.due < Instant::Never();
  const Duration ahead = request.visible ? request.tpot * (request.generated.value() / request.sequences) : Duration();
  request.due_of_run = ever ? request.due + ahead : Instant::Never();
  ++At(first)->prefilling;
  if (ever) timers_.insert(TimerOf(action.request, request));
  Publish(first);
}

void WorkBook::On(const Park& action) {
  const auto found = requests_.find(action.request);
  if (found == requests_.end() || found->second.stage != Stage::kArrived) return;
  found->second.stage = Stage::kWaiting;
  accounts_.ChangeWaiting(found->second.model, 1, now_);
}

void WorkBook::On(const Refuse& action) {
  const auto found = requests_.find(action.request);
  if (found == requests_.end()) return;
  Leave(action.request, found->second);
  requests_.erase(found);
}

void WorkBook::On(const FirstToken& event) {
  const auto found = requests_.find(event.request);
  if (found == requests_.end() || found->second.stage != Stage::kPrefilling) return;
  Request& request = found->second;
  Leave(event.request, request);
  request.stage = Stage::kDecoding;
  request.begun = true;
  if (Replica* replica = At(request.replica)) ++replica->decoding;
  Publish(request.replica);
}

void WorkBook::On(const PrefillEnded& event) {
  const auto found = requests_.find(event.request);
  if (found == requests_.end() || found->second.stage != Stage::kPrefilling) return;
  Request& request = found->second;
  Replica* next = At(request.answers);
  if (next == nullptr || request.answers == request.replica) return;
  const ReplicaId first = request.replica;
  --At(first)->prefilling;
  ++next->prefilling;
  if (request.late) {
    --At(first)->prefilling_late;
    ++next->prefilling_late;
  }
  request.replica = request.answers;
  Publish(first);
  Publish(request.replica);
}

void WorkBook::On(const RequestRequeued& event) {
  const auto found = requests_.find(event.request);
  if (found == requests_.end()) return;
  Request& request = found->second;
  const bool ran = request.stage == Stage::kPrefilling || request.stage == Stage::kDecoding;
  Leave(event.request, request);
  // An engine that failed or pushed back does not work for it.
  if (ran && !event.avoid_replica) Haunt(request.replica);
  request.generated = std::max(request.generated, event.generated);
  request.stage = Stage::kWaiting;
  accounts_.ChangeWaiting(request.model, 1, now_);
}

void WorkBook::On(const RequestClosed& event) {
  const auto found = requests_.find(event.request);
  if (found == requests_.end()) return;
  Request& request = found->second;
  const bool ran = request.stage == Stage::kPrefilling || request.stage == Stage::kDecoding;
  Leave(event.request, request);
  if (ran && event.outcome == Outcome::kClientGone) Haunt(request.replica);
  requests_.erase(found);
}

void WorkBook::On(const EngineReport& event) {
  Replica* replica = At(event.replica);
  if (replica == nullptr || replica->for_nobody == 0 || event.running != 0) return;
  if (event.sampled_at <= replica->newest_ghost) return;
  replica->for_nobody = 0;
  ++replica->generation;
  Publish(event.replica);
}

void WorkBook::On(const FleetChanged& event) {
  classes_ = event.fleet.classes;
  for (size_t i = 0; i < event.fleet.replicas.size(); ++i) {
    if (i >= replicas_.size()) {
      replicas_.emplace_back();
      accounts_.SetDown(i, true, now_);  // Until its first news.
    }
    if (IsVacant(event.fleet.replicas[i])) Vacate(i);
    replicas_[i].hold = event.fleet.replicas[i].abort_hold;
  }
}

void WorkBook::Vacate(size_t position) {
  Replica& replica = replicas_[position];
  if (replica.prefilling + replica.decoding > 0) return;
  // The ghosts of the replica that left are gone with it.
  const uint64_t generation = replica.generation + 1;
  replica = Replica();
  replica.generation = generation;
  Publish(ReplicaId(static_cast<uint32_t>(position)));
  accounts_.SetAsleep(position, false, now_);
  accounts_.SetDown(position, true, now_);
}

void WorkBook::Leave(RequestId id, Request& request) {
  if (request.stage == Stage::kWaiting) accounts_.ChangeWaiting(request.model, -1, now_);
  Replica* replica = At(request.replica);
  if (replica != nullptr && request.stage == Stage::kDecoding) --replica->decoding;
  if (replica != nullptr && request.stage == Stage::kPrefilling) {
    --replica->prefilling;
    if (request.late) --replica->prefilling_late;
    if (!request.late && request.due_of_run < Instant::Never()) timers_.erase(TimerOf(id, request));
  }
  const bool ran = request.stage == Stage::kPrefilling || request.stage == Stage::kDecoding;
  request.stage = Stage::kArrived;
  request.late = false;
  if (ran) Publish(request.replica);
}

void WorkBook::Haunt(ReplicaId id) {
  Replica* replica = At(id);
  if (replica == nullptr || replica->hold <= Duration()) return;
  ++replica->for_nobody;
  replica->newest_ghost = now_;
  timers_.insert(Timer{now_ + replica->hold, ++ghosts_, true, id, replica->generation});
  Publish(id);
}

void WorkBook::Publish(ReplicaId id) {
  const Replica* replica = At(id);
  if (replica == nullptr) return;
  // The sample of the streams may be older than the newest end.
  const int64_t overdue = std::min(replica->decoding_late, replica->decoding);
  const int64_t late = replica->prefilling_late + overdue;
  accounts_.SetWork(id.value(), {replica->prefilling + replica->decoding - late, late, replica->for_nobody}, now_);
}

}  // namespace penstock
