// Faults of FleetSimulation: replicas that die and come back, engines that sleep and wake.
#include "bench/simulation/fleet_simulation.h"

namespace penstock::bench {

void FleetSimulation::Die(size_t replica) {
  Engine& engine = engines_[replica];
  engine.down = true;
  const simulated::EngineGauges gauges = engine.machine->Gauges();
  engine.lost_preemptions += gauges.preemptions;
  engine.lost_recomputed += gauges.recomputed_tokens;
  if (engine.machine->StepInFlight()) {
    std::vector<simulated::GpuShare::StepEnd> moved;
    gpus_.End(static_cast<int>(replica), now_, moved);
    MoveStepEnds(moved);
  }
  ++engine.step_serial;
  ++engine.idle_serial;
  for (uint64_t index : engine.streams) engine.machine->Abort(SequenceOf(index, live_[index].tries));
  accounts_->SetStepping(replica, false, false, now_);
  accounts_->SetDown(replica, true, now_);
  const std::vector<uint64_t> lost = engine.streams;
  Tell(ReplicaHealth{ReplicaId(static_cast<uint32_t>(replica)), Health::kDown});
  for (uint64_t index : lost) Requeue(index);
  StartNeighboursInMemory(replica);
}

void FleetSimulation::Rise(size_t replica) {
  Engine& engine = engines_[replica];
  engine.down = engine.asleep = engine.waking = false;
  StartMachine(replica);
  accounts_->SetDown(replica, false, now_);
  Tell(ReplicaHealth{ReplicaId(static_cast<uint32_t>(replica)), Health::kUp});
}

void FleetSimulation::Doze(size_t replica, uint64_t serial) {
  Engine& engine = engines_[replica];
  if (engine.idle_serial != serial || engine.down) return;
  engine.asleep = true;
  accounts_->SetAsleep(replica, true, now_);
}

void FleetSimulation::Wake(size_t replica) {
  Engine& engine = engines_[replica];
  engine.asleep = engine.waking = false;
  accounts_->SetAsleep(replica, false, now_);
  StartStep(replica);
}

void FleetSimulation::ScheduleFaults() {
  for (size_t i = 0; i < spec_.replicas.size(); ++i) {
    const SimulatedReplica& replica = spec_.replicas[i];
    if (replica.down_from < Duration::Infinite()) Schedule(Instant() + replica.down_from, Kind::kDies, i);
    // A router notices a returned engine by its next probe.
    constexpr Duration kProbe = Duration::Seconds(1);
    if (replica.down_to < Duration::Infinite()) Schedule(Instant() + replica.down_to + kProbe, Kind::kRises, i);
    if (replica.sleep_after < Duration::Infinite()) Schedule(Instant() + replica.sleep_after, Kind::kDozes, i);
  }
  Schedule(Instant() + options_.window, Kind::kWindowEnd, 0);
}

}  // namespace penstock::bench
