#include "router/core/admission/early_refusal.h"

#include <algorithm>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

Duration PartOf(Duration goal, double part) { return Duration::Seconds(part * goal.seconds()); }

}  // namespace

bool EarlyRefusal::Concerns(const RequestState& request, Instant now) const {
  const WaitState& waiting = request.waiting;
  const ClassSpec& goals = fleet_.GoalsOf(request);
  if (!active_ || !goals.refuse_late || waiting.committed || waiting.begun || request.kept > Tokens(0)) return false;
  if (waiting.best_effort || waiting.parked || waiting.reservation.replica) return false;
  if (!servers_.AnyAwake(request.arrived.model)) return false;
  return now - request.arrival <= PartOf(goals.ttft, kLastLook);
}

void EarlyRefusal::Configure() {
  lanes_.resize(waiting_.lanes());
  const Fleet& fleet = fleet_.spec();
  for (uint32_t i = 0; i < std::min(lanes_.size(), fleet.models.size()); ++i) {
    if (IsVacant(fleet.models[i]) && waiting_.lane(ModelId(i)).empty()) lanes_[i] = LaneEvidence();
    for (Example& example : lanes_[i].examples) {
      const size_t service_class = example.service_class.value();
      if (service_class < fleet.classes.size() && IsVacant(fleet.classes[service_class])) example = Example();
    }
  }
}

void EarlyRefusal::Waits(RequestState* request, Instant now) {
  // A wait for a wake says nothing about the rate of the servers.
  if (!servers_.AnyAwake(request->arrived.model)) return;
  if (active_ && !request->waiting.best_effort) LaneOf(*request).drain.Waits(request, now);
}

void EarlyRefusal::WasLate(const RequestState& request, Instant now) {
  if (!active_) return;
  LaneEvidence& lane = LaneOf(request);
  lane.examples[lane.seen++ % kExamples] = {now,
                                            request.arrived.service_class,
                                            request.arrived.tenant,
                                            request.waiting.place - now,
                                            request.Prompt().AsDouble(),
                                            kPerExample};
}

bool EarlyRefusal::IsBehindTooMany(const RequestState& request, Instant now) const {
  const Lane& lane = waiting_.lane(request.arrived.model);
  const double rate = lanes_[request.arrived.model.value()].drain.Rate(now);
  const double most = kTooMany * rate * (lateness_.LastChance(request, now) - now).seconds();
  if (rate <= 0 || static_cast<double>(lane.size(request.arrived.service_class)) <= most) return false;
  return static_cast<double>(lane.PositionOf(request, now)) > most;
}

bool EarlyRefusal::HasReserve(const RequestState& request, Instant now) const {
  const LaneEvidence& lane = lanes_[request.arrived.model.value()];
  const DrainBySize::Drain drain = lane.drain.From(request.arrived.prompt, now);
  const double part = servers_.IsLarge(request) ? kReserveOfLarge : kReserve;
  const auto others = static_cast<double>(drain.waiting - 1);
  return others >= part * fleet_.GoalsOf(request).ttft.seconds() * drain.rate;
}

EarlyRefusal::Example* EarlyRefusal::ExampleFor(const RequestState& request, Instant now) {
  LaneEvidence& lane = LaneOf(request);
  const Duration goal = fleet_.GoalsOf(request).ttft;
  const bool by_tenant = fleet_.spec().fairness.mode != FairnessMode::kNone;
  const Duration lead = request.waiting.place - lateness_.LastChance(request, now);
  for (Example& example : lane.examples) {
    if (example.left == 0 || example.service_class != request.arrived.service_class) continue;
    if (by_tenant && example.tenant != request.arrived.tenant) continue;
    if (now - example.at > PartOf(goal, kExampleLife)) continue;
    if (lead < example.lead - PartOf(goal, kPlaceBand)) continue;
    if (kSizeBand * request.Prompt().AsDouble() >= example.prompt) return &example;
  }
  return nullptr;
}

bool EarlyRefusal::Refuses(const RequestState& request, Instant now) {
  if (!Concerns(request, now)) return false;
  const double late = waiting_.lane(request.arrived.model).late.At(now);
  if (late >= kBeyondKnee && IsBehindTooMany(request, now)) return true;
  if (late < kLeastLate || !HasReserve(request, now)) return false;
  Example* example = ExampleFor(request, now);
  if (example == nullptr) return false;
  --example->left;
  return true;
}

bool EarlyRefusal::SumsHold() const {
  std::vector<RequestState*> waiting;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    waiting_.lane(ModelId(static_cast<uint32_t>(i))).All(waiting);
    const auto counted =
        std::count_if(waiting.begin(), waiting.end(), [](const auto* r) { return r->evidence.counted; });
    if (counted != lanes_[i].drain.Recount()) return false;
  }
  return true;
}

Instant EarlyRefusal::NextLook(const RequestState& request, Instant now) const {
  const Instant next = now + PartOf(fleet_.GoalsOf(request).ttft, kBetweenLooks);
  return Concerns(request, next) ? next : Instant::Never();
}

Instant EarlyRefusal::NextCheck(const RequestState& request, Instant now) const {
  return std::min(lateness_.NextCheck(request, now), NextLook(request, now));
}

Instant EarlyRefusal::NextCheckAfter(const RequestState& request, Instant now) const {
  return std::min(lateness_.NextCheckAfter(request, now), NextLook(request, now));
}

}  // namespace penstock
