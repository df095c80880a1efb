#include "bench/simulation/fleet_simulation.h"

namespace penstock::bench {

void FleetSimulation::AdvanceTo(Instant at) {
  if (!requests_) {
    static const std::vector<SimulatedArrival> kNone;
    endless_ = true;
    requests_.emplace(kNone, engines_.size());
    Start(kNone);
  }
  while (events_.next_at() <= at) Handle(events_.Next());
}

uint64_t FleetSimulation::Offer(const SimulatedArrival& arrival) {
  const uint64_t request = requests_->Add(arrival);
  accounts_.Offer(arrival);
  events_.Schedule(Instant() + arrival.at, Occurrence::kArrival, request);
  return request;
}

}  // namespace penstock::bench
