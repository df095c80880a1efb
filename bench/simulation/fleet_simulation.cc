#include "bench/simulation/fleet_simulation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::bench {
namespace {

Duration SinceStart(Instant at) { return at - Instant(); }

}  // namespace

FleetSimulation::FleetSimulation(SimulatedFleetSpec spec, AdmissionCore& core, SimulationOptions options)
    : spec_(std::move(spec)), core_(core), options_(options), generator_(options.seed) {
  for (simulated::Sharing sharing : spec_.gpus) gpus_.AddGpu(sharing);
  for (const SimulatedReplica& replica : spec_.replicas) {
    Engine& engine = engines_.emplace_back();
    engine.machine = std::make_unique<simulated::StepMachine>(replica.limits);
    engine.coefficients = replica.coefficients;
    engine.slowdown = replica.slowdown;
    gpus_.AddReplica(replica.gpus);
  }
}

FleetSimulation::~FleetSimulation() = default;

void FleetSimulation::Schedule(Instant at, Kind kind, uint64_t subject, uint64_t detail) {
  queue_.push({at, order_++, kind, subject, detail});
}

void FleetSimulation::Tell(const Event& event) {
  std::vector<Action> actions;
  core_.Apply(event, now_, actions);
  if (observer_) observer_(event, now_, actions);
  for (const Action& action : actions) Act(action);
  const std::optional<Instant> next = core_.NextDeadline();
  if (next && (!timer_at_ || *next < *timer_at_ || *timer_at_ <= now_)) {
    timer_at_ = std::max(*next, now_);
    Schedule(*timer_at_, Kind::kTimer, 0);
  }
}

void FleetSimulation::Act(const Action& action) {
  if (const auto* forward = std::get_if<Forward>(&action)) {
    Live& live = live_[forward->request.value()];
    live.waiting = false;
    live.replica = forward->replica;
    live.try_tokens = live.sampled = 0;
    live.first_seen = false;
    ++live.tries;
    RequestRecord& record = records_[live.record];
    if (!record.queue_wait) record.queue_wait = forward->waited;
    record.replica = spec_.fleet.replicas[forward->replica.value()].name;
    Schedule(now_ + options_.link_delay, Kind::kSubmit, forward->request.value(), live.tries);
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    End(refuse->request.value(), Fate::kRefused, std::string(TraitsOf(refuse->reason).label));
  } else if (const auto* abort = std::get_if<Abort>(&action)) {
    ++aborts_;
    Schedule(now_ + options_.link_delay, Kind::kReturn, abort->request.value());
  }
}

void FleetSimulation::End(uint64_t index, Fate fate, const std::string& reason) {
  Live& live = live_[index];
  if (!live.open) return;
  live.open = false;
  --open_;
  RequestRecord& record = records_[live.record];
  record.end = SinceStart(now_);
  record.fate = fate;
  record.reason = reason;
}

void FleetSimulation::Forget(uint64_t index) {
  std::vector<uint64_t>& streams = engines_[live_[index].replica.value()].streams;
  streams.erase(std::remove(streams.begin(), streams.end(), index), streams.end());
}

void FleetSimulation::Arrive(uint64_t index) {
  const SimulatedArrival& arrival = live_[index].arrival;
  RequestArrived event;
  event.request = RequestId(index);
  event.model = arrival.model;
  event.priority = arrival.priority;
  event.tenant = arrival.tenant;
  const double estimate = arrival.prompt.AsDouble() * (1 + options_.prompt_error * generator_.Normal());
  event.prompt = Tokens(std::max<int64_t>(1, std::llround(estimate)));
  event.prompt_sigma = options_.prompt_error;
  event.max_output = arrival.max_output;
  event.observed = arrival.observed;
  if (arrival.vanishes) Schedule(now_ + *arrival.vanishes, Kind::kVanish, index);
  Tell(event);
}

void FleetSimulation::Submit(uint64_t index, uint64_t tries) {
  Live& live = live_[index];
  if (!live.open || live.waiting || live.tries != tries) return;
  Engine& engine = engines_[live.replica.value()];
  simulated::Sequence sequence;
  sequence.id = SequenceOf(index, tries);
  sequence.prompt = live.arrival.prompt + Tokens(live.tokens);
  sequence.output = live.arrival.output - Tokens(live.tokens);
  if (!engine.machine->Submit(sequence)) {
    End(index, Fate::kFailed, "engine_rejected");
    Tell(RequestClosed{RequestId(index), Outcome::kRejected, Tokens(0), Tokens(0), false});
    return;
  }
  engine.streams.push_back(index);
  StartStep(live.replica.value());
}

void FleetSimulation::StartStep(size_t replica) {
  Engine& engine = engines_[replica];
  if (engine.machine->StepInFlight() || !engine.machine->HasWork()) return;
  const simulated::StepLoad load = engine.machine->BeginStep();
  std::vector<simulated::GpuShare::StepEnd> moved;
  gpus_.Begin(static_cast<int>(replica), simulated::WorkOf(engine.coefficients, load, engine.slowdown), now_, moved);
  MoveStepEnds(moved);
}

void FleetSimulation::MoveStepEnds(const std::vector<simulated::GpuShare::StepEnd>& moved) {
  for (const simulated::GpuShare::StepEnd& end : moved) {
    Engine& engine = engines_[end.replica];
    Schedule(std::max(end.at, now_), Kind::kStepEnd, static_cast<uint64_t>(end.replica), ++engine.step_serial);
  }
}

void FleetSimulation::EndStep(size_t replica, uint64_t serial) {
  Engine& engine = engines_[replica];
  if (serial != engine.step_serial || !engine.machine->StepInFlight()) return;
  simulated::StepOutcome outcome = engine.machine->EndStep();
  std::vector<simulated::GpuShare::StepEnd> moved;
  gpus_.End(static_cast<int>(replica), now_, moved);
  MoveStepEnds(moved);
  if (!outcome.tokens.empty() || !outcome.ended.empty()) {
    size_t position = deliveries_.size();
    if (free_deliveries_.empty()) {
      deliveries_.emplace_back();
    } else {
      position = free_deliveries_.back();
      free_deliveries_.pop_back();
    }
    deliveries_[position] = {replica, std::move(outcome)};
    Schedule(now_ + options_.link_delay, Kind::kDeliver, position);
  }
  StartStep(replica);
}

void FleetSimulation::Deliver(uint64_t position) {
  const auto [replica, outcome] = std::move(deliveries_[position]);
  free_deliveries_.push_back(position);
  Engine& engine = engines_[replica];
  engine.newest_step = now_;
  for (const simulated::TokenMade& token : outcome.tokens) {
    const uint64_t index = token.id / 64;
    Live& live = live_[index];
    if (!live.open || live.waiting || SequenceOf(index, live.tries) != token.id) continue;
    ++live.tokens;
    ++live.try_tokens;
    if (live.arrival.observed) records_[live.record].tokens.Add(SinceStart(now_));
    if (!live.first_seen && live.arrival.observed) Tell(FirstToken{RequestId(index)});
    live.first_seen = true;
  }
  for (const simulated::SequenceEnded& ended : outcome.ended) {
    const uint64_t index = ended.id / 64;
    Live& live = live_[index];
    if (!live.open || live.waiting || SequenceOf(index, live.tries) != ended.id) continue;
    Forget(index);
    RequestClosed closed{RequestId(index), Outcome::kFinished, live.arrival.prompt, Tokens(live.tokens), false};
    if (!live.arrival.observed) records_[live.record].tokens.Add(SinceStart(now_), live.tokens);
    if (ended.end == simulated::SequenceEnd::kPoolExhausted) {
      ++overflow_failures_;
      closed.outcome = Outcome::kEngineFailed;
      End(index, Fate::kFailed, "pool_exhausted");
    } else {
      closed.hit_limit = ended.end == simulated::SequenceEnd::kContextFull;
      End(index, Fate::kFinished, "");
    }
    Tell(closed);
  }
}

void FleetSimulation::Report(size_t replica) {
  const simulated::EngineGauges gauges = engines_[replica].machine->Gauges();
  EngineReport report;
  report.replica = ReplicaId(static_cast<uint32_t>(replica));
  report.sampled_at = now_ - options_.report_delay;
  report.kv_used_share = static_cast<double>(gauges.used.value()) / gauges.total.AsDouble();
  report.running = gauges.running;
  report.waiting = gauges.waiting;
  report.preemptions = gauges.preemptions;
  Tell(report);
  if (open_ > 0) Schedule(now_ + options_.report_period, Kind::kReport, replica);
}

void FleetSimulation::Sample() {
  Progress progress;
  for (size_t i = 0; i < engines_.size(); ++i) {
    Engine& engine = engines_[i];
    int64_t steps = 0;
    for (uint64_t index : engine.streams) steps = std::max(steps, live_[index].try_tokens - live_[index].sampled);
    if (steps == 0) continue;
    progress.replicas.push_back({ReplicaId(static_cast<uint32_t>(i)), steps, engine.newest_step});
    for (uint64_t index : engine.streams) {
      Live& live = live_[index];
      const int64_t own = live.try_tokens - live.sampled;
      live.sampled = live.try_tokens;
      if (own != steps && live.first_seen) progress.corrections.push_back({RequestId(index), Tokens(live.tokens)});
    }
  }
  if (!progress.replicas.empty()) Tell(progress);
  if (open_ > 0) Schedule(now_ + options_.sample_period, Kind::kSample, 0);
}

void FleetSimulation::Vanish(uint64_t index) {
  Live& live = live_[index];
  if (!live.open) return;
  if (!live.waiting) {
    engines_[live.replica.value()].machine->Abort(SequenceOf(index, live.tries));
    Forget(index);
  }
  End(index, Fate::kFailed, "client_gone");
  Tell(RequestClosed{RequestId(index), Outcome::kClientGone, Tokens(0), Tokens(live.tokens), false});
}

void FleetSimulation::Return(uint64_t index) {
  Live& live = live_[index];
  if (!live.open || live.waiting) return;
  engines_[live.replica.value()].machine->Abort(SequenceOf(index, live.tries));
  Forget(index);
  live.waiting = true;
  // Continued from what the client has; a request answered in one piece starts again.
  if (!live.arrival.observed) live.tokens = 0;
  Tell(RequestReturned{RequestId(index), Tokens(live.tokens), false, Duration()});
}

void FleetSimulation::Handle(const Scheduled& event) {
  switch (event.kind) {
    case Kind::kArrival:
      return Arrive(event.subject);
    case Kind::kSubmit:
      return Submit(event.subject, event.detail);
    case Kind::kStepEnd:
      return EndStep(event.subject, event.detail);
    case Kind::kDeliver:
      return Deliver(event.subject);
    case Kind::kReport:
      return Report(event.subject);
    case Kind::kSample:
      return Sample();
    case Kind::kVanish:
      return Vanish(event.subject);
    case Kind::kReturn:
      return Return(event.subject);
    case Kind::kTimer:
      if (timer_at_ && *timer_at_ == event.at) {
        timer_at_.reset();
        Tell(TimerFired{});
      }
      return;
  }
}

SimulationOutcome FleetSimulation::Run(const std::vector<SimulatedArrival>& arrivals) {
  Tell(FleetChanged{spec_.fleet});
  for (size_t i = 0; i < engines_.size(); ++i) {
    Tell(ReplicaHealth{ReplicaId(static_cast<uint32_t>(i)), Health::kUp});
    Schedule(Instant() + options_.report_period, Kind::kReport, i);
  }
  Schedule(Instant() + options_.sample_period, Kind::kSample, 0);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const SimulatedArrival& arrival = arrivals[i];
    const ClassSpec& goals = spec_.fleet.classes[arrival.priority.value()];
    RequestRecord& record = records_.emplace_back();
    record.arrival = arrival.at;
    record.model = spec_.fleet.models[arrival.model.value()].name;
    record.tenant = absl::StrCat(arrival.tenant.value());
    record.priority = goals.name;
    record.prompt = arrival.prompt;
    record.goals = {goals.ttft, goals.tpot};
    record.tokens = TokenTally(arrival.at, record.goals, options_.window);
    Live& live = live_.emplace_back();
    live.arrival = arrival;
    live.record = i;
    ++open_;
    Schedule(Instant() + arrival.at, Kind::kArrival, i);
  }
  while (!queue_.empty() && open_ > 0) {
    const Scheduled event = queue_.top();
    queue_.pop();
    now_ = event.at;
    Handle(event);
  }
  SimulationOutcome outcome;
  for (const Engine& engine : engines_) {
    outcome.preemptions += engine.machine->Gauges().preemptions;
    outcome.recomputed_tokens += engine.machine->Gauges().recomputed_tokens;
  }
  outcome.records = std::move(records_);
  outcome.overflow_failures = overflow_failures_;
  outcome.aborts = aborts_;
  outcome.final_view = core_.View(now_);
  return outcome;
}

}  // namespace penstock::bench
