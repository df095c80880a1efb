#include "bench/simulation/fleet_simulation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "bench/simulation/arrivals.h"

namespace penstock::bench {
namespace {

constexpr Duration kForecastSamplePeriod = Duration::Seconds(1);

ReplicaId IdOf(size_t replica) { return ReplicaId(static_cast<uint32_t>(replica)); }

}  // namespace

FleetSimulation::FleetSimulation(SimulatedFleetSpec spec, AdmissionCore& core, SimulationOptions options)
    : spec_(std::move(spec)),
      core_(core),
      options_(std::move(options)),
      accounts_(spec_, options_.window),
      engines_(spec_, events_, accounts_.gpus()),
      reads_{AdapterLoads(spec_, events_), NodeStorages(spec_, events_)},
      handovers_(spec_, engines_),
      link_(options_, spec_.replicas.size(), events_, spec_.ranks),
      groups_(link_.one_pool().Joined(GroupsByPool(spec_.fleet))) {}

void FleetSimulation::Start(const std::vector<SimulatedArrival>& arrivals) {
  Fleet believed = link_.BelievedFleet(spec_.fleet);
  if (!endless_) DropIdleTenants(arrivals, believed);
  Tell(FleetChanged{std::move(believed)});
  for (size_t i = 0; i < engines_.size(); ++i) {
    if (link_.one_pool().Shows(i)) Tell(ReplicaHealth{IdOf(i), Health::kUp});
    if (spec_.fleet.replicas[i].sleep) {
      Tell(ReplicaResidency{IdOf(i), engines_.orders().residency(i), false, {}, engines_.orders().level(i)});
    }
    link_.StartReports(i);
  }
  engines_.ScheduleFaults();
  reads_.storages.Start();
  events_.Schedule(Instant() + options_.window, Occurrence::kWindowEnd, 0);
  events_.Schedule(Instant() + options_.sample_period, Occurrence::kSample, 0);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    accounts_.Offer(arrivals[i]);
    events_.Schedule(Instant() + arrivals[i].at, Occurrence::kArrival, i);
  }
}

SimulationOutcome FleetSimulation::Run(const std::vector<SimulatedArrival>& arrivals) {
  requests_.emplace(arrivals, engines_.size());
  Start(arrivals);
  while (!events_.empty() && requests_->open() > 0) Handle(events_.Next());
  accounts_.TakeOrders(engines_.orders(), reads_.adapters);
  return accounts_.Finish(engines_.Totals(), core_.View(events_.now()), events_.now());
}

void FleetSimulation::Handle(const Scheduled& event) {
  switch (event.kind) {
    case Occurrence::kArrival:
      return Arrive(event.subject);
    case Occurrence::kSubmit:
      return Submit(event.subject, event.detail);
    case Occurrence::kStepEnd:
      return EndStep(event.subject, event.detail);
    case Occurrence::kDeliver:
      return Deliver(event.subject);
    case Occurrence::kMeasure:
      return Measure(event.subject);
    case Occurrence::kReport:
      return Tell(link_.report(event.subject));
    case Occurrence::kSample:
      return Sample();
    case Occurrence::kTimer:
      return FireTimer(event.at);
    case Occurrence::kVanish:
      return Vanish(event.subject);
    case Occurrence::kRequeue:
      return Requeue(event.subject);
    case Occurrence::kDies:
      return Die(event.subject);
    case Occurrence::kRises:
      return Rise(event.subject);
    case Occurrence::kDrains:
      return Tell(ReplicaHealth{IdOf(event.subject), Health::kDraining});
    case Occurrence::kDozes:
      return engines_.Doze(event.subject, event.detail);
    case Occurrence::kWakes:
      return engines_.Wake(event.subject);
    case Occurrence::kOrderEnds:
      if (const auto ended = engines_.EndOrder(event.subject, event.detail)) Tell(*ended);
      return;
    case Occurrence::kAdapterEnds:
      return Tell(reads_.adapters.End(event.subject));
    case Occurrence::kCacheReport:
      return Tell(link_.caches().Take(event.subject));
    case Occurrence::kReadEnds:
      return reads_.storages.EndReads(event.subject, event.detail);
    case Occurrence::kNodePage:
      for (const NodeReport& each :
           reads_.storages.Page(event.subject, requests_->PauseOf(NodeStorages::kEvery, endless_, events_)))
        Tell(each);
      return;
    case Occurrence::kWindowEnd:
      return accounts_.EndWindow(engines_.Totals());
  }
}

void FleetSimulation::Tell(const Event& event) {
  std::vector<Action> actions;
  const Instant now = events_.now();
  const auto start = std::chrono::steady_clock::now();
  core_.Apply(event, now, actions);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  accounts_.CountDecision(took.count());
  accounts_.Observe(event, now, actions);
  if (observer_) observer_(event, now, actions);
  for (const Action& action : actions) Act(action);
  const std::optional<Instant> next = core_.NextDeadline();
  if (next && (!timer_at_ || *next < *timer_at_ || *timer_at_ <= now)) {
    timer_at_ = std::max(*next, now);
    events_.Schedule(*timer_at_, Occurrence::kTimer, 0);
  }
}

void FleetSimulation::Act(const Action& action) {
  if (const auto* forward = std::get_if<Forward>(&action)) return Place(*forward);
  if (const auto* refuse = std::get_if<Refuse>(&action)) return Turn(*refuse);
  if (const auto* abort = std::get_if<Abort>(&action)) {
    accounts_.CountAbort();
    return link_.SendAbort(abort->request.value());
  }
  if (const auto* sleep = std::get_if<Sleep>(&action))
    return engines_.Order(sleep->replica.value(), false, sleep->level);
  if (const auto* share = std::get_if<SetShare>(&action))
    return engines_.SetLimit(share->replica.value(), share->limit);
  if (const auto* wake = std::get_if<Wake>(&action)) return engines_.Order(wake->replica.value(), true);
  if (const auto* load = std::get_if<LoadAdapter>(&action))
    reads_.adapters.Begin(*load, !engines_.IsAway(load->replica.value()));
}

void FleetSimulation::Place(const Forward& forward) {
  const uint64_t request = forward.request.value();
  accounts_.Forwarded(forward);
  const ReplicaId first = handovers_.Begin(forward);
  link_.SendRequest(request, requests_->Forward(request, first), spec_.replicas[first.value()].host_time);
}

void FleetSimulation::Turn(const Refuse& refuse) {
  // A client that has a part of the answer sees a broken stream.
  const Fate fate = accounts_.HasBegun(refuse.request.value()) ? Fate::kFailed : Fate::kRefused;
  const uint64_t request = refuse.request.value();
  End(request, fate, std::string(TraitsOf(refuse.reason).label));
  accounts_.Refused(request, refuse);
  const bool again = options_.retry && fate == Fate::kRefused && TraitsOf(refuse.reason).retryable;
  if (!again || requests_->IsRetry(request)) return;
  const uint64_t retry = requests_->Retry(request, events_.elapsed() + refuse.retry_after);
  accounts_.Offer(*(*requests_)[retry].arrival);
  events_.Schedule(events_.now() + refuse.retry_after, Occurrence::kArrival, retry);
}

void FleetSimulation::End(uint64_t request, Fate fate, const std::string& reason) {
  if (!requests_->End(request)) return;
  accounts_.Ended(request, fate, reason, events_.now());
}

void FleetSimulation::Arrive(uint64_t request) {
  const SimulatedArrival& arrival = requests_->Arrive(request);
  RequestArrived event = ArrivedOf(spec_.fleet, arrival);
  event.request = RequestId(request);
  const double estimate = link_.EstimateOf(arrival.prompt, arrival.tenant);
  accounts_.CountPromptError(estimate / arrival.prompt.AsDouble() - 1);
  event.prompt = Tokens(std::max<int64_t>(1, std::llround(estimate)));
  event.prompt_sigma = options_.prompt_error;
  if (arrival.vanishes) events_.Schedule(events_.now() + *arrival.vanishes, Occurrence::kVanish, request);
  Tell(event);
}

void FleetSimulation::Submit(uint64_t request, uint64_t tries) {
  LiveRequest& live = (*requests_)[request];
  if (!live.open || live.waiting || live.tries != tries) return;
  live.replica = link_.one_pool().Choose(live.replica, engines_);
  const size_t replica = live.replica.value();
  if (engines_.IsAway(replica)) return Requeue(request);
  if (reads_.adapters.Delays(replica, live.arrival->model, request, tries)) return;
  if (reads_.storages.Delays(replica, live.arrival->storage, request, tries)) return;
  simulated::Sequence sequence;
  sequence.id = requests_->SequenceOf(request);
  sequence.prompt = live.arrival->prompt + Tokens(live.tokens);
  sequence.output = live.arrival->output - Tokens(live.tokens);
  const simulated::EngineLimits& limits = spec_.replicas[replica].limits;
  if (limits.prefix_cache && !live.arrival->prefix.empty()) {
    const std::vector<uint64_t> prefix = PrefixOf(spec_.fleet, *live.arrival);
    sequence.prefix_blocks = BlocksOf(prefix, live.arrival->prompt, limits.block);
    if (spec_.replicas[replica].cache_events) link_.caches().Name(prefix, sequence.prefix_blocks);
  }
  if (tries > 1 && !handovers_.Handed(request)) accounts_.CountRecomputed(sequence.prompt);
  handovers_.Reach(request, sequence);
  if (!engines_.Submit(replica, sequence)) {
    End(request, Fate::kFailed, "engine_rejected");
    return Tell(RequestClosed{RequestId(request), Outcome::kRejected, Tokens(0), Tokens(0), false});
  }
  requests_->OpenStream(request);
}

void FleetSimulation::Deliver(uint64_t position) {
  const RouterLink::Outcome outcome = link_.TakeOutcome(position);
  requests_->NoteDelivery(outcome.replica, events_.now());
  simulated::SequenceId last = 0;  // The tokens of a sequence in one step follow each other.
  for (const simulated::TokenMade& token : outcome.step.tokens) {
    LiveRequest* live = requests_->Running(token.id);
    if (live == nullptr) continue;
    const uint64_t request = LiveRequests::RequestOf(token.id);
    live->TakeToken(std::exchange(last, token.id) != token.id);
    if (live->arrival->observed) accounts_.Delivered(request, events_.now());
    if (!live->first_seen && live->arrival->observed) Tell(FirstToken{RequestId(request)});
    live->first_seen = true;
  }
  for (const simulated::SequenceEnded& ended : outcome.step.ended) {
    if (const LiveRequest* live = requests_->Running(ended.id)) Close(ended, *live);
  }
}

void FleetSimulation::Close(const simulated::SequenceEnded& ended, const LiveRequest& live) {
  const uint64_t request = LiveRequests::RequestOf(ended.id);
  requests_->CloseStream(request);
  if (handovers_.InPrefill(request) && ended.end == simulated::SequenceEnd::kStop) {
    const ReplicaId next = handovers_.Computed(request, ended.id);
    const Duration transfer = handovers_.TransferOf(request, live.arrival->prompt + Tokens(live.tokens));
    const Duration host_time = spec_.replicas[next.value()].host_time;
    link_.SendRequest(request, requests_->Forward(request, next), transfer + host_time);
    return Tell(PrefillEnded{RequestId(request), true, ended.cached_prompt});
  }
  handovers_.Drop(request);
  RequestClosed closed{RequestId(request), Outcome::kFinished, live.arrival->prompt, Tokens(live.tokens), false};
  closed.cached = ended.cached_prompt;
  accounts_.CountCached(ended.cached_prompt);
  if (!live.arrival->observed) accounts_.Delivered(request, events_.now(), live.tokens);
  if (ended.end == simulated::SequenceEnd::kPoolExhausted) {
    accounts_.CountOverflowFailure();
    closed.outcome = Outcome::kEngineFailed;
    End(request, Fate::kFailed, "pool_exhausted");
  } else {
    const Tokens limit = live.arrival->max_output;
    const bool reached = limit > Tokens(0) && Tokens(live.tokens) >= limit;
    closed.hit_limit = reached || ended.end == simulated::SequenceEnd::kContextFull;
    End(request, Fate::kFinished, "");
  }
  Tell(closed);
}

void FleetSimulation::Vanish(uint64_t request) {
  const LiveRequest& live = (*requests_)[request];
  if (!live.open) return;
  if (!live.waiting) {
    engines_.Abort(live.replica.value(), requests_->SequenceOf(request));
    requests_->CloseStream(request);
  }
  handovers_.Drop(request);
  End(request, Fate::kFailed, "client_gone");
  Tell(RequestClosed{RequestId(request), Outcome::kClientGone, Tokens(0), Tokens(live.tokens), false});
}

void FleetSimulation::Requeue(uint64_t request) {
  LiveRequest& live = (*requests_)[request];
  if (!live.open || live.waiting) return;
  const size_t replica = live.replica.value();
  const bool in_prefill = handovers_.InPrefill(request);
  engines_.Abort(replica, requests_->SequenceOf(request));
  handovers_.Drop(request);
  requests_->CloseStream(request);
  requests_->Requeue(request);
  // A stream continues from the client's tokens; a request answered in one piece starts again.
  if (!live.arrival->observed) live.tokens = 0;
  Tell(RequestRequeued{RequestId(request), Tokens(live.tokens), engines_.IsDown(replica), in_prefill});
}

void FleetSimulation::Sample() {
  for (const std::vector<size_t>& group : groups_) {
    const Progress progress = requests_->ProgressOf(group, link_.one_pool().IsOne(group));
    if (!progress.replicas.empty()) Tell(progress);
  }
  const Instant now = events_.now();
  accounts_.SampleWork(requests_->LateStreams(spec_.fleet.classes, now), core_.FindMemoryWaits(now), now);
  if (now - forecasts_sampled_ >= kForecastSamplePeriod) {
    forecasts_sampled_ = now;
    accounts_.TakeForecastErrors(core_.View(now));
    if (options_.progress) options_.progress(events_.elapsed(), requests_->ended());
  }
  const auto pause = requests_->PauseOf(options_.sample_period, endless_, events_);
  if (pause) events_.Schedule(now + *pause, Occurrence::kSample, 0);
}

}  // namespace penstock::bench
