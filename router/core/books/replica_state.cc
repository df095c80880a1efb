#include "router/core/books/replica_state.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace penstock {
namespace {

// Samples of steps, 25 ms each, before first tokens teach the host time: half a second of decoding.
constexpr int kKnownSteps = 20;
// Slow steps after which the step model that they taught counts as that of a well replica.
constexpr double kUsualSteps = 60;
// Seconds of idle time after which old steps say nothing of new ones.
constexpr double kForgetPace = 1;

}  // namespace

int64_t EngineFacts::TakePreemptions(int64_t counter) {
  if (counter < 0) return 0;
  const int64_t more = preemptions >= 0 && counter > preemptions ? counter - preemptions : 0;
  preemptions = counter;
  preemptions_seen += more;
  return more;
}

void ReplicaState::Configure(const ReplicaSpec& spec, const std::vector<ClassSpec>& classes) {
  const bool same = spec.prior == spec_.prior && spec.prior_known == spec_.prior_known &&
                    spec.time_sliced == spec_.time_sliced && !spec_.name.empty();
  if (!same) {
    const double per_neighbour = spec.time_sliced ? StepModel::kTimeSliced : StepModel::kMps;
    model_ = StepModel(spec.prior, spec.prior_known, per_neighbour);
    steps.healthy = model_;
    host_time = HostTime();
    facts.speculation = TokensPerStep();
    facts.pace = PaceWatch(spec.prior_known, per_neighbour);
    facts.grey = GreyState();
  }
  spec_ = spec;
  streams_.Configure(classes);
  streams_.Rekey(requests_);
}

CacheHope ReplicaState::HopeFor(const RequestState& request) const {
  CacheHope hope;
  if (request.arrived.prefix.empty() || spec_.prefix_cache <= Tokens(0) || health == Health::kDown) return hope;
  if (request.stage.apart) return hope;
  const PromptCache::Match match = prompts.Find(request.arrived.prefix);
  hope.live = request.PrefixTokens(match.live);
  hope.blocks = match.live + match.left;
  hope.left = request.PrefixTokens(hope.blocks) - hope.live;
  hope.host = request.PrefixTokens(hope.blocks + match.host) - hope.live - hope.left;
  const double sure = prompts.reliability().share() * hope.left.AsDouble();
  const double loaded = prompts.host_reliability().share() * hope.host.AsDouble();
  hope.expected = hope.live + Tokens(static_cast<int64_t>(sure)) + Tokens(static_cast<int64_t>(loaded));
  hope.load = Duration::Seconds(loaded * spec_.host_cache.seconds);
  return hope;
}

Tokens ReplicaState::SharedOf(const RequestState& request) const {
  // A request that joined before the engine was known to keep a cache is none of its users.
  if (!spec_.shares_prompts || (request.Running() && !request.running.in_cache)) return Tokens(0);
  const std::vector<uint64_t>& prefix = request.arrived.prefix;
  return request.PrefixTokens(request.running.in_cache ? prompts.live().Shared(prefix) : prompts.Find(prefix).held);
}

void ReplicaState::Join(RequestState* request, Instant now, std::vector<RequestId>& others) {
  if (!busy()) {
    steps.last_end.reset();
    prefills_.ForgetProven();
    if ((now - facts.pace.newest_at()).seconds() > kForgetPace) facts.pace.Forget();
  }
  request->phase = RequestPhase::kPrefilling;
  request->running.probation = health == Health::kProbing ? probation.number : 0;
  probation.requests += request->running.probation > 0 ? 1 : 0;
  request->running.dispatched = now;
  request->running.computed = false;
  request->running.found_idle = requests_.empty();
  request->running.hope = HopeFor(*request);
  request->running.prefill_left = request->PrefillAfter(request->running.hope.expected).tokens;
  request->running.load_left = request->running.hope.load;
  request->running.in_cache = spec_.prefix_cache > Tokens(0) && !request->arrived.prefix.empty();
  if (request->running.in_cache) prompts.Join(request->arrived.request, request->arrived.prefix, others);
  request->running.slot = requests_.size();
  requests_.push_back(request);
  load.sequences += request->arrived.sequences;
  if (request->running.evictable) load.yielding += request->arrived.sequences;
  if (!request->arrived.observed) ++load.unobserved;
  prefills_.Add(request);
}

void ReplicaState::BecomeDecoding(RequestState* request) {
  assert(request->phase == RequestPhase::kPrefilling);
  prefills_.Prove(request);
  request->running.computed = true;
  request->phase = RequestPhase::kDecoding;
  streams_.Join(request);
}

void ReplicaState::ComputePrompt(RequestState* request) {
  prefills_.Remove(request);
  request->running.prefill_left = request->PrefillAfter(Tokens(0)).tokens;
  request->running.load_left = Duration();
  prefills_.Add(request);
}

void ReplicaState::Correct(RequestState* request, int64_t tokens) {
  if (request->phase == RequestPhase::kDecoding) streams_.Correct(request, tokens);
}

void ReplicaState::Leave(RequestState* request, std::vector<RequestId>& others) {
  if (request->running.in_cache) {
    // An engine that did not compute the prompt has no more of it than before.
    int64_t kept = request->running.hope.blocks;
    if (request->running.computed) kept = static_cast<int64_t>(request->arrived.prefix.size());
    if (health == Health::kDown) kept = 0;
    prompts.Leave(request->arrived.request, request->arrived.prefix, kept, others);
    request->running.in_cache = false;
  }
  if (request->phase == RequestPhase::kPrefilling) {
    prefills_.Remove(request);
  } else if (request->phase == RequestPhase::kDecoding) {
    streams_.Leave(request);
  }
  load.sequences -= request->arrived.sequences;
  if (request->running.evictable) load.yielding -= request->arrived.sequences;
  if (!request->arrived.observed) --load.unobserved;
  if (request->running.probation > 0 && request->running.probation == probation.number) --probation.requests;
  const size_t slot = request->running.slot;
  requests_[slot] = requests_.back();
  requests_[slot]->running.slot = slot;
  requests_.pop_back();
}

void ReplicaState::LearnHostTime(const RequestState& request, double delay, Instant now, int busy_neighbours) {
  const RunState& run = request.running;
  const bool alone = run.found_idle && requests_.size() == 1 && busy_neighbours == 0;
  // A cached prompt may be computed again or not. Without observed tokens no first token is known.
  const bool here = !request.arrived.embedding && !request.stage.apart;
  const bool certain = run.hope.blocks == 0 && run.hope.host == Tokens(0) && request.arrived.observed && here;
  if (!alone || !certain || (spec_.learns_steps && model_.Observations(0) < kKnownSteps)) return;
  const double prior = FirstTokenAlone(model_.prior(), request.PrefillAfter(Tokens(0)), spec_.batch_budget);
  host_time.Observe((now - run.dispatched).seconds() - delay - model_.Factor(0) * prior);
}

void ReplicaState::Advance(int64_t count, Instant newest, int busy_neighbours) {
  if (count <= 0) return;
  const Tokens per_step = std::max(Tokens(1), spec_.batch_budget - Tokens(streams_.sequences()));
  const PrefillWork computed = prefills_.Compute(count, steps.last_end.value_or(newest), newest, per_step);
  const std::optional<Instant> before = std::exchange(steps.last_end, newest);
  if (before && newest > *before && streams_.sequences() > 0) {
    const double ended = static_cast<double>(count);
    const double elapsed = (newest - *before).seconds();
    const double derate = model_.derate();
    const double sequences = static_cast<double>(streams_.sequences());
    const double kv_tokens = static_cast<double>(streams_.kv_tokens());
    if (spec_.learns_steps) {
      const double prior = model_.PriorOf(ended, sequences, kv_tokens, computed);
      // Steps that are only forecast say nothing of the pace, and neither do those with doubtful prefill.
      const bool seen = load.unobserved < static_cast<int64_t>(requests_.size()) && !prefills_.doubtful();
      if (seen) facts.pace.Observe(ended, elapsed, prior, busy_neighbours, derate == 1, *steps.last_end);
      if (facts.pace.slow_steps() == 0 || facts.pace.slow_steps() > kUsualSteps) steps.healthy = model_;
      model_.Observe(elapsed, ended, sequences, kv_tokens, computed, busy_neighbours);
    }
    steps.pace.Observe(ended, elapsed / ended / derate, DecodeStep(busy_neighbours) / derate);
  }
  streams_.Advance(count);
}

void ReplicaState::Derate() {
  const double derate = std::max(facts.grey.derate, facts.node.derate);
  if (model_.derate() == 1 && derate > 1) model_ = steps.healthy;
  model_.SetDerate(derate);
}

size_t ReplicaState::TakeTurn(size_t most) {
  const size_t first = turn_ < requests_.size() ? turn_ : 0;
  turn_ = first + most;
  return first;
}

double ReplicaState::DecodeStep(int busy_neighbours) const {
  return model_.DecodeStep(static_cast<double>(streams_.sequences()), static_cast<double>(streams_.kv_tokens()),
                           busy_neighbours);
}

double ReplicaState::Remainder(Instant now, double at_least, int busy_neighbours) const {
  if (!steps.last_end || !busy()) return at_least;
  const Tokens room = std::max(Tokens(0), spec_.batch_budget - Tokens(streams_.sequences()));
  const double prefill = model_.PriceOfPrefill(busy_neighbours).Of(prefills_.Next(room));
  const double step = DecodeStep(busy_neighbours) + prefill;
  return std::max(at_least, step - (now - *steps.last_end).seconds());
}

DecodePace ReplicaState::Pace(int busy_neighbours) const {
  const double sequences = std::max<double>(1, static_cast<double>(streams_.sequences()));
  const double derate = model_.derate();
  DecodePace pace =
      steps.pace.Of(model_.DecodeStep(sequences, static_cast<double>(streams_.kv_tokens()), busy_neighbours) / derate);
  pace.now *= facts.speculation.value() / derate;
  pace.usual *= facts.speculation.value() / derate;
  return pace;
}

double ReplicaState::MostTokensPerSecond(int neighbours) const {
  const double sequences = std::max<double>(1, static_cast<double>(streams_.sequences()));
  // KV tokens are left out: a correction may lower them.
  double decode = model_.DecodeStep(sequences, 0, 0);
  for (int busy = 1; busy <= neighbours; ++busy) decode = std::min(decode, model_.DecodeStep(sequences, 0, busy));
  const DecodePace pace = steps.pace.Of(decode / model_.derate());
  return std::max(pace.now, pace.usual) * facts.speculation.value() / model_.derate();
}

bool ReplicaState::SumsHold() const {
  int64_t sequences = 0;
  int64_t yielding = 0;
  int64_t unobserved = 0;
  int64_t probes = 0;
  for (const RequestState* request : requests_) {
    sequences += request->arrived.sequences;
    yielding += request->running.evictable ? request->arrived.sequences : 0;
    unobserved += request->arrived.observed ? 0 : 1;
    probes += request->running.probation > 0 && request->running.probation == probation.number ? 1 : 0;
  }
  return sequences == load.sequences && yielding == load.yielding && unobserved == load.unobserved &&
         probes == probation.requests && prefills_.SumHolds() && streams_.SumsHold(requests_);
}

}  // namespace penstock
