#include "bench/simulation/fleet_simulation.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/simulation/fluid_bound.h"
#include "kvmodel/step_model.h"

namespace penstock::bench {
namespace {

Duration SinceStart(Instant at) { return at - Instant(); }

// The trace names blocks of kPrefixBlock tokens; the engine's are smaller. Each name gives the names of the engine's
// blocks inside it.
std::vector<uint64_t> EngineBlocks(const std::vector<uint64_t>& prefix, Tokens prompt, Tokens block) {
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

}  // namespace

FleetSimulation::FleetSimulation(SimulatedFleetSpec spec, AdmissionCore& core, SimulationOptions options)
    : spec_(std::move(spec)), core_(core), options_(std::move(options)), generator_(options_.seed) {
  for (simulated::Sharing sharing : spec_.gpus) gpus_.AddGpu(sharing);
  for (const Bytes capacity : spec_.elastic) elastic_.push_back({capacity.value(), 0});
  std::vector<std::vector<int>> replica_gpus;
  for (const SimulatedReplica& replica : spec_.replicas) {
    gpus_.AddReplica(replica.gpus);
    replica_gpus.push_back(replica.gpus);
    engines_.emplace_back();
    StartMachine(engines_.size() - 1);
  }
  std::map<size_t, size_t> group_of_pool;
  for (size_t i = 0; i < spec_.fleet.replicas.size(); ++i) {
    const std::vector<PoolShare>& pools = spec_.fleet.replicas[i].pools;
    const size_t pool = pools.empty() ? spec_.fleet.pools.size() + i : pools.front().pool.value();
    const size_t group = group_of_pool.try_emplace(pool, groups_.size()).first->second;
    if (group == groups_.size()) groups_.emplace_back();
    groups_[group].push_back(i);
  }
  accounts_.emplace(spec_.fleet, replica_gpus, spec_.gpus.size(), options_.window);
  for (std::vector<int64_t>& compared : compared_) compared.assign(spec_.fleet.pools.size(), 0);
}

void FleetSimulation::StartMachine(size_t replica) {
  const SimulatedReplica& spec = spec_.replicas[replica];
  simulated::ElasticMemory* memory = spec.elastic < 0 ? nullptr : &elastic_[static_cast<size_t>(spec.elastic)];
  engines_[replica].machine = std::make_unique<simulated::StepMachine>(spec.limits, memory);
}

FleetSimulation::~FleetSimulation() = default;

void FleetSimulation::Schedule(Instant at, Kind kind, uint64_t subject, uint64_t detail) {
  queue_.push({at, order_++, kind, subject, detail});
}

void FleetSimulation::Tell(const Event& event) {
  std::vector<Action> actions;
  const auto start = std::chrono::steady_clock::now();
  core_.Apply(event, now_, actions);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  outcome_.decision_us.push_back(took.count());
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
    accounts_->ChangeWaiting(live.arrival.model, -1, now_);
    live.replica = forward->replica;
    live.try_tokens = live.sampled = 0;
    live.first_seen = false;
    ++live.tries;
    RequestRecord& record = records_[live.record];
    if (!record.queue_wait) record.queue_wait = forward->waited;
    record.replica = spec_.fleet.replicas[forward->replica.value()].name;
    const std::vector<int>& gpus = spec_.replicas[forward->replica.value()].gpus;
    if (!spec_.gpu_names.empty() && !gpus.empty()) record.gpu = spec_.gpu_names[gpus.front()];
    Schedule(now_ + options_.link_delay, Kind::kSubmit, forward->request.value(), live.tries);
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    // Who has seen a part of the answer sees a broken stream.
    const bool begun = records_[live_[refuse->request.value()].record].tokens.tokens() > 0;
    End(refuse->request.value(), begun ? Fate::kFailed : Fate::kRefused, std::string(TraitsOf(refuse->reason).label));
  } else if (const auto* abort = std::get_if<Abort>(&action)) {
    ++outcome_.aborts;
    Schedule(now_ + options_.link_delay, Kind::kReturn, abort->request.value());
  }
}

void FleetSimulation::End(uint64_t index, Fate fate, const std::string& reason) {
  Live& live = live_[index];
  if (!live.open) return;
  live.open = false;
  --open_;
  if (live.waiting) accounts_->ChangeWaiting(live.arrival.model, -1, now_);
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
  event.service_class = arrival.service_class;
  event.tenant = arrival.tenant;
  const double estimate = arrival.prompt.AsDouble() * (1 + options_.prompt_error * generator_.Normal());
  event.prompt = Tokens(std::max<int64_t>(1, std::llround(estimate)));
  event.prompt_sigma = options_.prompt_error;
  event.prefix.assign(arrival.prefix.begin(), arrival.prefix.end());
  outcome_.prompt_errors.push_back(estimate / arrival.prompt.AsDouble() - 1);
  event.max_output = arrival.max_output;
  event.observed = arrival.observed;
  if (arrival.vanishes) Schedule(now_ + *arrival.vanishes, Kind::kVanish, index);
  accounts_->ChangeWaiting(arrival.model, 1, now_);
  Tell(event);
}

void FleetSimulation::Submit(uint64_t index, uint64_t tries) {
  Live& live = live_[index];
  if (!live.open || live.waiting || live.tries != tries) return;
  Engine& engine = engines_[live.replica.value()];
  if (engine.down) return Requeue(index);
  simulated::Sequence sequence;
  sequence.id = SequenceOf(index, tries);
  sequence.prompt = live.arrival.prompt + Tokens(live.tokens);
  sequence.output = live.arrival.output - Tokens(live.tokens);
  const simulated::EngineLimits& limits = spec_.replicas[live.replica.value()].limits;
  if (limits.prefix_cache && !live.arrival.prefix.empty()) {
    sequence.prefix_blocks = EngineBlocks(live.arrival.prefix, live.arrival.prompt, limits.block);
  }
  if (tries > 1) recomputed_elsewhere_ += sequence.prompt.value();
  if (!engine.machine->Submit(sequence)) {
    End(index, Fate::kFailed, "engine_rejected");
    Tell(RequestClosed{RequestId(index), Outcome::kRejected, Tokens(0), Tokens(0), false});
    return;
  }
  engine.streams.push_back(index);
  StartStep(live.replica.value());
}

double FleetSimulation::FactorNow(size_t replica) const {
  const SimulatedReplica& spec = spec_.replicas[replica];
  const Duration at = SinceStart(now_);
  return at >= spec.slow_from && at < spec.slow_to ? spec.slowdown : 1;
}

void FleetSimulation::StartStep(size_t replica) {
  Engine& engine = engines_[replica];
  if (engine.down || engine.waking || engine.machine->StepInFlight() || !engine.machine->HasWork()) return;
  if (engine.asleep) {
    engine.waking = true;
    return Schedule(now_ + spec_.replicas[replica].wake, Kind::kWakes, replica);
  }
  ++engine.idle_serial;
  const simulated::StepLoad load = engine.machine->BeginStep();
  const double factor = FactorNow(replica);
  accounts_->SetStepping(replica, true, factor > 1, now_);
  std::vector<simulated::GpuShare::StepEnd> moved;
  gpus_.Begin(static_cast<int>(replica), simulated::WorkOf(spec_.replicas[replica].coefficients, load, factor), now_,
              moved);
  MoveStepEnds(moved);
}

void FleetSimulation::StartNeighboursInMemory(size_t replica) {
  const int memory = spec_.replicas[replica].elastic;
  if (memory < 0) return;
  for (size_t i = 0; i < engines_.size(); ++i) {
    if (i != replica && spec_.replicas[i].elastic == memory) StartStep(i);
  }
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
  accounts_->SetStepping(replica, false, false, now_);
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
  StartNeighboursInMemory(replica);
  const Duration sleep_after = spec_.replicas[replica].sleep_after;
  if (!engine.machine->StepInFlight() && sleep_after < Duration::Infinite()) {
    Schedule(now_ + sleep_after, Kind::kDozes, replica, ++engine.idle_serial);
  }
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
      ++outcome_.overflow_failures;
      closed.outcome = Outcome::kEngineFailed;
      End(index, Fate::kFailed, "pool_exhausted");
    } else {
      closed.hit_limit = ended.end == simulated::SequenceEnd::kContextFull;
      End(index, Fate::kFinished, "");
    }
    Tell(closed);
  }
}

void FleetSimulation::Measure(size_t replica) {
  Engine& engine = engines_[replica];
  if (!engine.down) {
    const simulated::EngineGauges gauges = engine.machine->Gauges();
    engine.measured.replica = ReplicaId(static_cast<uint32_t>(replica));
    engine.measured.sampled_at = now_;
    engine.measured.kv_used_share = static_cast<double>(gauges.used.value()) / gauges.total.AsDouble();
    engine.measured.running = gauges.running;
    engine.measured.waiting = gauges.waiting;
    engine.measured.preemptions = gauges.preemptions;
    Schedule(now_ + options_.report_delay, Kind::kReport, replica);
  }
  if (open_ > 0) Schedule(now_ + options_.report_period, Kind::kMeasure, replica);
}

void FleetSimulation::SampleGroup(const std::vector<size_t>& replicas) {
  Progress progress;
  for (size_t i : replicas) {
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
}

void FleetSimulation::Sample() {
  for (const std::vector<size_t>& group : groups_) SampleGroup(group);
  if (now_ - forecasts_sampled_ >= Duration::Seconds(1)) SampleForecasts();
  if (open_ > 0) Schedule(now_ + options_.sample_period, Kind::kSample, 0);
}

void FleetSimulation::SampleForecasts() {
  forecasts_sampled_ = now_;
  const CoreView view = core_.View(now_);
  for (size_t k = 0; k < kForecastChecks; ++k) {
    for (size_t i = 0; i < view.pools.size() && i < compared_[k].size(); ++i) {
      const PoolView::ForecastError& newest = view.pools[i].forecast_errors[k];
      if (newest.compared > compared_[k][i]) outcome_.pool_errors[k].push_back(newest.error);
      compared_[k][i] = newest.compared;
    }
  }
  if (!options_.progress) return;
  options_.progress(SinceStart(now_), static_cast<int64_t>(live_.size()) - open_);
}

int64_t FleetSimulation::RecomputedSoFar() const {
  int64_t tokens = recomputed_elsewhere_;
  for (const Engine& engine : engines_) {
    tokens += engine.lost_recomputed + (engine.down ? 0 : engine.machine->Gauges().recomputed_tokens);
  }
  return tokens;
}

void FleetSimulation::Vanish(uint64_t index) {
  Live& live = live_[index];
  if (!live.open) return;
  if (!live.waiting) {
    Engine& engine = engines_[live.replica.value()];
    if (!engine.down) engine.machine->Abort(SequenceOf(index, live.tries));
    Forget(index);
  }
  End(index, Fate::kFailed, "client_gone");
  Tell(RequestClosed{RequestId(index), Outcome::kClientGone, Tokens(0), Tokens(live.tokens), false});
}

void FleetSimulation::Requeue(uint64_t index) {
  Live& live = live_[index];
  if (!live.open || live.waiting) return;
  Engine& engine = engines_[live.replica.value()];
  if (!engine.down) engine.machine->Abort(SequenceOf(index, live.tries));
  Forget(index);
  live.waiting = true;
  accounts_->ChangeWaiting(live.arrival.model, 1, now_);
  // Continued from what the client has; a request answered in one piece starts again.
  if (!live.arrival.observed) live.tokens = 0;
  Tell(RequestRequeued{RequestId(index), Tokens(live.tokens), engine.down, Duration()});
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
    case Kind::kMeasure:
      return Measure(event.subject);
    case Kind::kReport:
      return Tell(engines_[event.subject].measured);
    case Kind::kSample:
      return Sample();
    case Kind::kVanish:
      return Vanish(event.subject);
    case Kind::kReturn:
      return Requeue(event.subject);
    case Kind::kDies:
      return Die(event.subject);
    case Kind::kRises:
      return Rise(event.subject);
    case Kind::kDozes:
      return Doze(event.subject, event.detail);
    case Kind::kWakes:
      return Wake(event.subject);
    case Kind::kWindowEnd:
      window_over_ = true;
      outcome_.recomputed_tokens = RecomputedSoFar();
      return;
    case Kind::kTimer:
      if (timer_at_ && *timer_at_ == event.at) {
        timer_at_.reset();
        Tell(TimerFired{});
      }
      return;
  }
}

void FleetSimulation::AddRecord(const SimulatedArrival& arrival) {
  const ClassSpec& goals = spec_.fleet.classes[arrival.service_class.value()];
  RequestRecord& record = records_.emplace_back();
  record.arrival = arrival.at;
  record.model = spec_.fleet.models[arrival.model.value()].name;
  record.tenant = arrival.tenant_name.empty() ? absl::StrCat(arrival.tenant.value()) : arrival.tenant_name;
  record.service_class = goals.name;
  record.prompt = arrival.prompt;
  record.goals = {goals.ttft, goals.tpot};
  record.feasible = IsFeasible(spec_, arrival);
  record.tokens = TokenTally(arrival.at, record.goals, options_.window);
}

SimulationOutcome FleetSimulation::Run(const std::vector<SimulatedArrival>& arrivals) {
  Fleet believed = spec_.fleet;
  for (ReplicaSpec& replica : believed.replicas) {
    const double factor = 1 + options_.step_error * (2 * generator_.Uniform() - 1);
    for (double* term : {&replica.prior.a, &replica.prior.b, &replica.prior.c, &replica.prior.d}) *term *= factor;
  }
  Tell(FleetChanged{believed});
  for (size_t i = 0; i < engines_.size(); ++i) {
    Tell(ReplicaHealth{ReplicaId(static_cast<uint32_t>(i)), Health::kUp});
    // Scrapes of different engines are spread over the period.
    const Duration phase = Duration::Seconds(options_.report_period.seconds() * generator_.Uniform());
    Schedule(Instant() + phase, Kind::kMeasure, i);
  }
  ScheduleFaults();
  Schedule(Instant() + options_.sample_period, Kind::kSample, 0);
  records_.reserve(arrivals.size());
  live_.reserve(arrivals.size());
  for (size_t i = 0; i < arrivals.size(); ++i) {
    AddRecord(arrivals[i]);
    Live& live = live_.emplace_back();
    live.arrival = arrivals[i];
    live.record = i;
    ++open_;
    Schedule(Instant() + arrivals[i].at, Kind::kArrival, i);
  }
  while (!queue_.empty() && open_ > 0) {
    const Scheduled event = queue_.top();
    queue_.pop();
    now_ = event.at;
    Handle(event);
  }
  if (!window_over_) outcome_.recomputed_tokens = RecomputedSoFar();
  for (const Engine& engine : engines_) {
    outcome_.preemptions += engine.lost_preemptions + (engine.down ? 0 : engine.machine->Gauges().preemptions);
  }
  accounts_->SettleAll(std::max(now_, Instant() + options_.window));
  for (size_t gpu = 0; gpu < accounts_->gpus(); ++gpu) outcome_.gpu_seconds.push_back(accounts_->seconds(gpu));
  outcome_.records = std::move(records_);
  outcome_.final_view = core_.View(now_);
  return std::move(outcome_);
}

}  // namespace penstock::bench
