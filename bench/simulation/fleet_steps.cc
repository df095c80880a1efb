#include "bench/simulation/fleet_simulation.h"

namespace penstock::bench {

void FleetSimulation::AdvanceTo(Instant at) {
  if (!requests_) {
    static const std::vector<SimulatedArrival> none;
    endless_ = true;
    requests_.emplace(none, engines_.size());
    Start(none);
  }
  while (events_.next_at() <= at) Handle(events_.Next());
}

uint64_t FleetSimulation::Offer(const SimulatedArrival& arrival) {
  const uint64_t request = requests_->Add(arrival);
  accounts_.Offer(arrival);
  events_.Schedule(Instant() + arrival.at, Occurrence::kArrival, request);
  return request;
}

void FleetSimulation::EndStep(size_t replica, uint64_t serial) {
  std::optional<simulated::StepOutcome> outcome = engines_.EndStep(replica, serial);
  if (!outcome) return;
  link_.SendOutcome(replica, *std::move(outcome));
  if (spec_.replicas[replica].cache_events) link_.caches().Send(replica, engines_.TakeCacheChanges(replica));
  engines_.ContinueAfterStep(replica);
}

void FleetSimulation::FireTimer(Instant at) {
  if (timer_at_ != at) return;  // An earlier deadline replaced this one.
  timer_at_.reset();
  Tell(TimerFired{});
}

void FleetSimulation::Die(size_t replica) {
  const std::vector<uint64_t> lost = requests_->Streams(replica);
  std::vector<simulated::SequenceId> sequences;
  sequences.reserve(lost.size());
  for (const uint64_t request : lost) sequences.push_back(requests_->SequenceOf(request));
  engines_.Die(replica, sequences);
  const ReplicaId id(static_cast<uint32_t>(replica));
  if (link_.one_pool().Shows(replica)) Tell(ReplicaHealth{id, Health::kDown});
  for (const auto& gone : reads_.adapters.Forget(replica)) Tell(gone);
  for (const uint64_t request : lost) Requeue(request);
  engines_.StartNeighboursInMemory(replica);
}

void FleetSimulation::Rise(size_t replica) {
  engines_.Rise(replica);
  if (link_.one_pool().Shows(replica)) Tell(ReplicaHealth{ReplicaId(static_cast<uint32_t>(replica)), Health::kUp});
}

void FleetSimulation::Measure(size_t replica) {
  if (!engines_.IsDown(replica)) {
    link_.SendReport(replica, engines_.Gauges(replica));
    // The router reads a file of its own machine.
    if (const auto elastic = engines_.ElasticOf(replica)) Tell(*elastic);
  }
  const auto pause = requests_->PauseOf(options_.report_period, endless_, events_);
  if (pause) link_.ScheduleReading(replica, *pause);
}

}  // namespace penstock::bench
