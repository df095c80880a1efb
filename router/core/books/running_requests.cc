#include "router/core/books/running_requests.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// Requests ahead whose memory is fetched: of tens of thousands running requests none is in a cache any more.
constexpr size_t kFetchAhead = 3;
// Requests whose progress is forecast only are advanced this often: two samples of the streams that are seen. Without
// the pause, each timer would open their replicas, and no search of a large fleet would come to its end.
constexpr Duration kForecastTick = Duration::Milliseconds(50);
// Seconds; keeps the count of steps finite.
constexpr double kLeastAdvance = 1e-4;

void Fetch(const RequestState& request) {
  constexpr size_t kCacheLine = 64;
  const char* memory = reinterpret_cast<const char*>(&request);
  for (size_t i = 0; i < sizeof(request); i += kCacheLine) __builtin_prefetch(memory + i);
}

}  // namespace

void RunningRequests::Start(RequestState* request, ReplicaId id, std::span<const GrowthVector> growth,
                            double expected_ttft, Instant now) {
  ReplicaState& replica = fleet_.replica(id);
  request->running.replica = id;
  request->running.first_expected = now + Duration::Seconds(expected_ttft);
  const Tokens expected(static_cast<int64_t>(forecasts_.Admit(request, replica)));
  request->running.shared = replica.SharedOf(*request);
  request->running.evictable = fleet_.GoalsOf(*request).evictable;
  if (request->running.evictable) {
    ++evictable_;
  } else {
    fleet_.demand.Sent(request->arrived.model, now);
  }
  JoinPools(request, replica, expected, growth, now);
  replica.Join(request, now, movers_);
  CacheHope& hope = request->running.hope;
  if (replica.SharedOf(*request) != request->running.shared) movers_.push_back(request->arrived.request);
  hope.price = replica.steps_model().PriceOfPrefill(fleet_.BusyNeighbours(replica));
  if (!request->arrived.observed) ++unobserved_;
  request->running.storage = fleet_.storage.NeedOf(request->arrived);
  fleet_.storage.Begin(id.value(), request->running.storage);
  MoveShared(replica, nullptr, now);
}

void RunningRequests::JoinPools(RequestState* request, const ReplicaState& replica, Tokens expected,
                                std::span<const GrowthVector> growth, Instant now) {
  Holdings holdings;
  for (size_t i = 0; i < replica.spec().pools.size(); ++i) {
    const PoolShare& share = replica.spec().pools[i];
    PoolState& pool = fleet_.pool(share.pool);
    const Amount shared = SharedPart(share.footprint, request->running.shared, pool);
    const Amount prompt = share.footprint.Of(request->Prompt());
    const Amount one = share.footprint.Of(request->Prompt() + expected);
    const Amount promised = prompt + (one - prompt) * request->arrived.sequences;
    holdings.push_back({share.pool, prompt - shared, promised - shared});
    pool.risk().Dispatched();
    PoolMembership& in = request->pools.emplace_back();
    in.pool = share.pool;
    in.footprint = share.footprint;
    in.shared = shared;
    in.holding = holdings.back();
    pool.Join(in.member, growth[i], request->running.evictable, now);
  }
  request->running.lease = fleet_.ledger().Open(holdings);
}

void RunningRequests::Configure() {
  extra_tokens_.resize(fleet_.replicas().size());
  shared_.resize(fleet_.replicas().size());
  for (ReplicaState& replica : fleet_.replicas()) {
    // Forecasts and leases follow as the requests are renewed.
    for (RequestState* request : replica.requests()) request->running.shared = replica.SharedOf(*request);
    shared_[fleet_.PositionOf(replica)].Follow(replica, nullptr, fleet_);
    LimitCache(replica, nullptr);
    replica.prompts.SetHostRoom(replica.spec().host_cache.tokens.value() / kPrefixBlock.value());
  }
}

void RunningRequests::MoveShared(ReplicaState& replica, const RequestState* leaving, Instant now) {
  RequestState* mover = nullptr;
  for (const RequestId id : movers_) {
    mover = requests_.Find(id);
    if (mover == nullptr || !mover->Running()) continue;
    mover->running.shared = replica.SharedOf(*mover);
    Refresh(mover, replica, forecasts_.PaceOf(replica), now);
  }
  movers_.clear();
  shared_[fleet_.PositionOf(replica)].Follow(replica, mover, fleet_);
  LimitCache(replica, leaving);
}

void RunningRequests::LimitCache(ReplicaState& replica, const RequestState* leaving) {
  double blocks = replica.spec().prefix_cache.AsDouble() / kPrefixBlock.AsDouble();
  for (const PoolShare& share : replica.spec().pools) {
    const double block = share.footprint.Shared(kPrefixBlock.AsDouble());
    Amount free = fleet_.ledger().Available(share.pool) - fleet_.ledger().balance(share.pool).held;
    if (leaving != nullptr) {
      for (const PoolMembership& in : leaving->pools) free += in.pool == share.pool ? in.holding.held : Amount(0);
    }
    if (block > 0) blocks = std::min(blocks, free.AsDouble() / block);
  }
  replica.prompts.SetRoom(static_cast<int64_t>(std::max(0.0, blocks)));
}

bool RunningRequests::TakeFirstToken(RequestState* request, Instant now) {
  if (request->phase != RequestPhase::kPrefilling) return false;
  ReplicaState& replica = fleet_.replica(request->running.replica);
  CacheHope& hope = request->running.hope;
  if (hope.Seconds(hope.All()) > (request->running.first_expected - request->running.dispatched).seconds()) {
    // The forecast counted on the expected part: a first token in time shows that part, not all that was hoped for.
    const double late = (now - request->running.first_expected).seconds();
    const double seen = hope.price.LeadingTokens(hope.Seconds(hope.expected) - late);
    hope.seen = Tokens(static_cast<int64_t>(std::min(seen + 0.5, hope.All().AsDouble())));
  }
  replica.prompts.counters().Computed(request->Prompt(), hope.live, hope.left + hope.host, hope.seen >= Tokens(0));
  const double delay = fleet_.spec().limits.dispatch_delay.seconds();
  replica.LearnHostTime(*request, delay, now, fleet_.BusyNeighbours(replica));
  LearnStorage(*request, replica, now);
  EndStorage(request);
  replica.BecomeDecoding(request);
  Refresh(request, replica, forecasts_.PaceOf(replica), now);
  return true;
}

void RunningRequests::EndStorage(RequestState* request) {
  fleet_.storage.End(request->running.replica.value(), std::exchange(request->running.storage, StorageNeed::kNone));
}

void RunningRequests::LearnStorage(const RequestState& request, const ReplicaState& replica, Instant now) {
  if (!fleet_.storage.learns() || request.arrived.storage != StorageNeed::kUnsaid) return;
  // Slow steps are late for another reason.
  if (!request.arrived.observed || replica.steps_model().derate() > 1) return;
  const double late = (now - request.running.first_expected).seconds();
  fleet_.storage.Learn(request.arrived.model, late, replica.facts.node.storage_pressure);
}

void RunningRequests::Advance(const Progress& event, Instant now) {
  for (const ReplicaProgress& progress : event.replicas) {
    if (!fleet_.Knows(progress.replica)) continue;
    ReplicaState& replica = fleet_.replica(progress.replica);
    if (!replica.busy()) continue;
    // Without the end of the step before, steps teach nothing, and nobody knows when one ends.
    if (progress.delayed) replica.steps.last_end.reset();
    replica.Advance(progress.steps, std::min(progress.newest_step_end, now), fleet_.BusyNeighbours(replica));
    if (progress.delayed) replica.steps.last_end.reset();
    extra_tokens_[progress.replica.value()] = 0;
  }
  for (const StreamTokens& stream : event.corrections) {
    RequestState* request = requests_.Find(stream.request);
    if (request == nullptr || request->phase != RequestPhase::kDecoding) continue;
    ReplicaState& replica = fleet_.replica(request->running.replica);
    const int64_t own = std::max<int64_t>(0, (stream.generated - request->kept).value() / request->arrived.sequences);
    extra_tokens_[request->running.replica.value()] +=
        static_cast<double>((own - replica.streams().Generated(*request)) * request->arrived.sequences);
    replica.Correct(request, own);
  }
  if (!speculation_) return;
  for (const ReplicaProgress& progress : event.replicas) {
    if (!fleet_.Knows(progress.replica) || progress.delayed) continue;
    ReplicaState& replica = fleet_.replica(progress.replica);
    const double steps = static_cast<double>(progress.steps * replica.streams().sequences());
    replica.facts.speculation.Observe(steps + extra_tokens_[progress.replica.value()], steps);
  }
}

void RunningRequests::CatchUp(ReplicaState& replica, size_t most, Instant now) {
  AdvanceUnobserved(replica, now);
  const std::vector<RequestState*>& running = replica.requests();
  const size_t count = std::min(most, running.size());
  const size_t first = replica.TakeTurn(count);
  const DecodePace pace = forecasts_.PaceOf(replica);
  const auto at = [&](size_t i) { return running[(first + i) % running.size()]; };
  for (size_t i = 0; i < std::min(kFetchAhead, count); ++i) Fetch(*at(i));
  for (size_t i = 0; i < count; ++i) {
    if (i + kFetchAhead < count) Fetch(*at(i + kFetchAhead));
    Refresh(at(i), replica, pace, now);
  }
  LimitCache(replica, nullptr);
}

bool RunningRequests::TakeForecastTick(Instant now) {
  if (now < NextDue()) return false;
  tick_due_ = now + kForecastTick;
  return true;
}

void RunningRequests::AdvanceUnobserved(ReplicaState& replica, Instant now) {
  if (replica.load.unobserved == 0) return;
  for (RequestState* request : replica.requests()) {
    const bool due = !request->arrived.observed && request->running.first_expected <= now;
    if (due && request->phase == RequestPhase::kPrefilling) {
      EndStorage(request);
      replica.BecomeDecoding(request);
    }
  }
  if (replica.load.unobserved < static_cast<int64_t>(replica.requests().size())) return;
  if (replica.streams().sequences() <= 0) return;
  // No token is seen here: steps are taken to go on at their forecast length.
  const int busy = fleet_.BusyNeighbours(replica);
  const double step = replica.DecodeStep(busy);
  const Instant since = replica.steps.last_end.value_or(now - Duration::Seconds(step));
  const int64_t steps = static_cast<int64_t>((now - since).seconds() / std::max(kLeastAdvance, step));
  replica.Advance(steps, since + Duration::Seconds(step * static_cast<double>(steps)), busy);
}

void RunningRequests::Refresh(RequestState* request, ReplicaState& replica, const DecodePace& pace, Instant now) {
  const int64_t generated = replica.streams().Generated(*request);
  forecasts_.Count(request, generated);
  if (request->pools.empty()) return;
  // A request stays in the pools that it joined, whatever a reload made of its replica.
  members_.clear();
  for (const PoolMembership& in : request->pools) {
    members_.push_back(forecasts_.MemberOf(*request, replica, {in.pool, in.footprint}, pace, now));
  }
  growth_.clear();
  AddContributions(members_, growth_);
  const Tokens tokens = request->Prompt() + Tokens(generated);
  Holdings holdings;
  for (size_t i = 0; i < request->pools.size(); ++i) {
    PoolMembership& in = request->pools[i];
    fleet_.pool(in.pool).Update(in.member, growth_[i], now);
    const Amount prompt = in.footprint.Of(request->Prompt());
    const Amount shared = SharedPart(in.footprint, request->running.shared, fleet_.pool(in.pool));
    in.holding.held = prompt + (in.footprint.Of(tokens) - prompt) * request->arrived.sequences - shared;
    in.holding.promised += in.shared - shared;
    in.shared = shared;
    in.holding.promised = std::max(in.holding.promised, in.holding.held);
    fleet_.pool(in.pool).lending().Replace(in.member.lending,
                                           lending_.PartOf(*request, replica, in.holding.held, pace.now, now));
    holdings.push_back(in.holding);
  }
  fleet_.ledger().Update(request->running.lease, holdings);
}

void RunningRequests::Leave(RequestState* request, Instant now) {
  LeavePools(fleet_, *request);
  ReplicaState& replica = fleet_.replica(request->running.replica);
  LimitCache(replica, request);
  EndStorage(request);
  replica.Leave(request, movers_);
  if (!request->arrived.observed) --unobserved_;
  if (request->running.evictable) --evictable_;
  MoveShared(replica, request, now);
}

void RunningRequests::Recall(RequestState* request, AbortReason reason, Instant now) {
  Leave(request, now);
  request->phase = RequestPhase::kAborting;
  request->running.recalled_for = reason;
  ++fleet_.replica(request->running.replica).load.recalled;
  fleet_.ledger().Drain(request->running.lease, Instant::Never());
}

void RunningRequests::EndRecall(const RequestState& request, Instant free_at) {
  --fleet_.replica(request.running.replica).load.recalled;
  fleet_.ledger().DrainUntil(request.running.lease, free_at);
}

void RunningRequests::Finish(RequestState* request, Tokens reported) {
  request->running.computed = true;
  const CacheHope& hope = request->running.hope;
  const Tokens found = reported >= Tokens(0) ? reported : hope.seen;
  if (reported >= Tokens(0)) fleet_.replica(request->running.replica).prompts.counters().Counted();
  if (found < Tokens(0) || !request->running.in_cache) return;
  PromptCache& prompts = fleet_.replica(request->running.replica).prompts;
  prompts.reliability().Observe(hope.left, found - hope.live);
  // The host has copies of the GPU's part too. So a count that ends before speaks against both.
  const Tokens loaded = std::clamp(found - hope.live - hope.left, Tokens(0), hope.host);
  prompts.host_reliability().Observe(hope.host, loaded);
  hits_.prompts_compared += request->Prompt().value();
  hits_.cached_expected += hope.expected.value();
  hits_.cached_found += found.value();
  hits_.host_expected += hope.host.value();
  hits_.host_found += loaded.value();
}

void RunningRequests::Show(CoreView& view) const {
  view.counters.prompts_compared = hits_.prompts_compared;
  view.counters.cached_expected = hits_.cached_expected;
  view.counters.cached_found = hits_.cached_found;
  view.counters.host_expected = hits_.host_expected;
  view.counters.host_found = hits_.host_found;
}

}  // namespace penstock
