#include "bench/simulation/engines/simulated_engines.h"

#include <algorithm>

#include "router/core/contract/event.h"

namespace penstock::bench {
namespace {

// A router notices a returned engine by its next probe.
constexpr Duration kProbe = Duration::Seconds(1);

simulated::StepFaultSpec FaultsOf(const SimulatedReplica& spec) {
  return {spec.slowdown, spec.slow_from, spec.slow_to, spec.stall, spec.stall_every, spec.noise};
}

}  // namespace

SimulatedEngines::SimulatedEngines(const SimulatedFleetSpec& spec, EventQueue& events, GpuAccounts& gpus)
    : spec_(spec),
      events_(events),
      gpus_(gpus),
      orders_(spec, events),
      journals_(spec.replicas.size()),
      step_times_(spec.gpus.size()) {
  for (const simulated::Sharing sharing : spec.gpus) share_.AddGpu(sharing);
  for (const Bytes capacity : spec.elastic) elastic_.push_back({capacity.value(), 0});
  for (const SimulatedReplica& replica : spec.replicas) {
    share_.AddReplica(replica.gpus);
    engines_.emplace_back().limit = replica.limit;
    engines_.back().faults = simulated::StepFaults(FaultsOf(replica), engines_.size());
    StartMachine(engines_.size() - 1);
    if (!orders_.IsAwake(engines_.size() - 1)) gpus_.SetAsleep(engines_.size() - 1, true, events_.now());
  }
}

void SimulatedEngines::StartMachine(size_t replica) {
  const SimulatedReplica& spec = spec_.replicas[replica];
  Engine& engine = engines_[replica];
  if (engine.machine != nullptr) {
    const simulated::EngineGauges gauges = engine.machine->Gauges();
    engine.lost_preemptions += gauges.preemptions;
    engine.lost_recomputed += gauges.recomputed_tokens;
    ++engine.step_serial;
    if (engine.machine->StepInFlight()) share_.End(static_cast<int>(replica), events_.now(), moved_);
    MoveStepEnds();
  }
  simulated::ElasticMemory* memory = spec.elastic < 0 ? nullptr : &elastic_[static_cast<size_t>(spec.elastic)];
  simulated::CacheJournal* journal = spec.cache_events ? &journals_[replica] : nullptr;
  engine.machine = std::make_unique<simulated::StepMachine>(spec.limits, memory, journal);
  journals_[replica].clear();
  if (engine.limit > Bytes(0)) engine.machine->SetLimit(engine.limit);
}

std::optional<ElasticReport> SimulatedEngines::ElasticOf(size_t replica) const {
  const Engine& engine = engines_[replica];
  if (engine.limit == Bytes(0)) return std::nullopt;
  const Bytes used = spec_.replicas[replica].limits.block_bytes * engine.machine->Gauges().used.value();
  return ElasticReport{ReplicaId(static_cast<uint32_t>(replica)), events_.now(), engine.limit, used, Bytes(0)};
}

void SimulatedEngines::SetLimit(size_t replica, Bytes limit) {
  engines_[replica].limit = limit;
  engines_[replica].machine->SetLimit(limit);
  StartStep(replica);
}

EngineTotals SimulatedEngines::Totals() const {
  EngineTotals totals{0, 0, step_times_};
  for (const Engine& engine : engines_) {
    totals.preemptions += engine.lost_preemptions;
    totals.recomputed_tokens += engine.lost_recomputed;
    const simulated::EngineGauges gauges = engine.machine->Gauges();
    totals.preemptions += gauges.preemptions;
    totals.recomputed_tokens += gauges.recomputed_tokens;
  }
  return totals;
}

void SimulatedEngines::ScheduleFaults() {
  for (size_t i = 0; i < engines_.size(); ++i) {
    const SimulatedReplica& replica = spec_.replicas[i];
    const auto schedule = [&](Duration after, Occurrence kind, Duration delay = Duration()) {
      if (after < Duration::Infinite()) events_.Schedule(Instant() + after + delay, kind, i);
    };
    schedule(replica.down_from, Occurrence::kDies);
    schedule(replica.down_to, Occurrence::kRises, kProbe);
    schedule(replica.sleep_after, Occurrence::kDozes);
  }
}

std::vector<uint64_t> BlocksOf(const std::vector<uint64_t>& prefix, Tokens prompt, Tokens block) {
  std::vector<uint64_t> blocks;
  const int64_t parts = kPrefixBlock.value() / block.value();
  if (parts < 1) return blocks;
  const size_t full = std::min<size_t>(prefix.size(), static_cast<size_t>(prompt.value() / kPrefixBlock.value()));
  blocks.reserve(full * static_cast<size_t>(parts));
  for (size_t i = 0; i < full; ++i) {
    for (int64_t part = 0; part < parts; ++part) {
      blocks.push_back((prefix[i] + 1) * 0x9E3779B97F4A7C15ULL ^ static_cast<uint64_t>(part) * 0xC2B2AE3D27D4EB4FULL);
    }
  }
  return blocks;
}

bool SimulatedEngines::Submit(size_t replica, const simulated::Sequence& sequence) {
  if (!engines_[replica].machine->Submit(sequence)) return false;
  StartStep(replica);
  return true;
}

void SimulatedEngines::Abort(size_t replica, simulated::SequenceId sequence) {
  if (!engines_[replica].down) engines_[replica].machine->Abort(sequence);
}

void SimulatedEngines::StartStep(size_t replica) {
  Engine& engine = engines_[replica];
  if (engine.down || engine.waking || engine.machine->StepInFlight() || !engine.machine->HasWork()) return;
  if (engine.asleep) {
    engine.waking = true;
    return events_.Schedule(events_.now() + spec_.replicas[replica].wake, Occurrence::kWakes, replica);
  }
  ++engine.idle_serial;
  const simulated::StepLoad load = engine.machine->BeginStep();
  const double factor = engine.faults.FactorAt(events_.elapsed());
  simulated::StepWork work = simulated::WorkOf(spec_.replicas[replica].coefficients, load, factor);
  engine.step = StepTimeOf(spec_.replicas[replica].coefficients, load, factor);
  const Duration stall = engine.faults.StandstillAt(events_.elapsed());
  engine.step.stall = stall.seconds();
  work.alone = work.alone + stall;
  share_.Begin(static_cast<int>(replica), work, events_.now(), moved_);
  MoveStepEnds();
}

void SimulatedEngines::StartNeighboursInMemory(size_t replica) {
  const int memory = spec_.replicas[replica].elastic;
  if (memory < 0) return;
  for (size_t i = 0; i < engines_.size(); ++i) {
    if (i != replica && spec_.replicas[i].elastic == memory) StartStep(i);
  }
}

void SimulatedEngines::MoveStepEnds() {
  for (const simulated::GpuShare::StepEnd& end : moved_) {
    Engine& engine = engines_[static_cast<size_t>(end.replica)];
    events_.Schedule(std::max(end.at, events_.now()), Occurrence::kStepEnd, static_cast<uint64_t>(end.replica),
                     ++engine.step_serial);
  }
  moved_.clear();
}

std::optional<simulated::StepOutcome> SimulatedEngines::EndStep(size_t replica, uint64_t serial) {
  Engine& engine = engines_[replica];
  if (serial != engine.step_serial || !engine.machine->StepInFlight()) return std::nullopt;
  simulated::StepOutcome outcome = engine.machine->EndStep();
  for (const int gpu : spec_.replicas[replica].gpus) step_times_[static_cast<size_t>(gpu)] += engine.step;
  share_.End(static_cast<int>(replica), events_.now(), moved_);
  MoveStepEnds();
  return outcome;
}

void SimulatedEngines::ContinueAfterStep(size_t replica) {
  StartStep(replica);
  StartNeighboursInMemory(replica);
  Engine& engine = engines_[replica];
  const Duration sleep_after = spec_.replicas[replica].sleep_after;
  if (!engine.machine->StepInFlight() && sleep_after < Duration::Infinite()) {
    events_.Schedule(events_.now() + sleep_after, Occurrence::kDozes, replica, ++engine.idle_serial);
  }
}

void SimulatedEngines::Die(size_t replica, std::span<const simulated::SequenceId> sequences) {
  Engine& engine = engines_[replica];
  engine.down = true;
  ++engine.idle_serial;
  // Elastic memory outlives the machine and has to come back.
  for (const simulated::SequenceId sequence : sequences) engine.machine->Abort(sequence);
  StartMachine(replica);
  gpus_.SetDown(replica, true, events_.now());
}

void SimulatedEngines::Rise(size_t replica) {
  Engine& engine = engines_[replica];
  // One that only drained goes on with its work.
  if (!engine.down && !engine.asleep && !engine.waking) return;
  engine.down = engine.asleep = engine.waking = false;
  StartMachine(replica);
  gpus_.SetDown(replica, false, events_.now());
}

void SimulatedEngines::Doze(size_t replica, uint64_t serial) {
  Engine& engine = engines_[replica];
  if (engine.idle_serial != serial || engine.down) return;
  engine.asleep = true;
  gpus_.SetAsleep(replica, true, events_.now());
}

std::optional<ReplicaResidency> SimulatedEngines::EndOrder(size_t replica, uint64_t serial) {
  const std::optional<ReplicaResidency> ended = orders_.End(replica, serial);
  if (!ended) return ended;
  // Its cache is gone.
  if (!ended->failed && ended->residency == Residency::kAsleep) StartMachine(replica);
  gpus_.SetAsleep(replica, ended->residency == Residency::kAsleep, events_.now());
  return ended;
}

void SimulatedEngines::Wake(size_t replica) {
  Engine& engine = engines_[replica];
  engine.asleep = engine.waking = false;
  gpus_.SetAsleep(replica, false, events_.now());
  StartStep(replica);
}

}  // namespace penstock::bench
