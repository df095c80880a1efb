#include "router/core/books/running_requests.h"

#include <algorithm>

namespace penstock {
namespace {

// Requests ahead whose memory is fetched: of tens of thousands running requests none is in a cache any more.
constexpr size_t kFetchAhead = 3;
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
  Holdings holdings;
  for (size_t i = 0; i < replica.spec().pools.size(); ++i) {
    const PoolShare& share = replica.spec().pools[i];
    const Amount prompt = share.footprint.Of(request->Prompt());
    const Amount one = share.footprint.Of(request->Prompt() + expected);
    const Amount promised = prompt + (one - prompt) * request->arrived.sequences;
    holdings.push_back({share.pool, prompt, promised});
    PoolState& pool = fleet_.pool(share.pool);
    pool.risk().Dispatched();
    PoolMembership& in = request->pools.emplace_back();
    in.pool = share.pool;
    in.footprint = share.footprint;
    in.holding = holdings.back();
    pool.Join(in.member, growth[i], now);
  }
  request->running.lease = fleet_.ledger().Open(holdings);
  replica.Join(request, now);
  if (!request->arrived.observed) ++unobserved_;
}

bool RunningRequests::TakeFirstToken(RequestState* request, Instant now) {
  if (request->phase != RequestPhase::kPrefilling) return false;
  ReplicaState& replica = fleet_.replica(request->running.replica);
  replica.BecomeDecoding(request);
  Refresh(request, replica, forecasts_.PaceOf(replica), now);
  return true;
}

void RunningRequests::Advance(const Progress& event, const RequestTable& requests, Instant now) {
  for (const ReplicaProgress& progress : event.replicas) {
    if (!fleet_.Knows(progress.replica)) continue;
    ReplicaState& replica = fleet_.replica(progress.replica);
    if (!replica.busy()) continue;
    replica.Advance(progress.steps, std::min(progress.newest_step_end, now), fleet_.BusyNeighbours(replica));
  }
  for (const StreamTokens& stream : event.corrections) {
    RequestState* request = requests.Find(stream.request);
    if (request == nullptr || request->phase != RequestPhase::kDecoding) continue;
    const int64_t own = (stream.generated - request->kept).value() / request->arrived.sequences;
    fleet_.replica(request->running.replica).Correct(request, std::max<int64_t>(0, own));
  }
}

void RunningRequests::CatchUp(ReplicaState& replica, size_t most, Instant now) {
  AdvanceUnobserved(replica, now);
  const std::vector<RequestState*>& running = replica.requests();
  const size_t count = std::min(most, running.size());
  const size_t first = replica.TakeTurn(count);
  const double pace = forecasts_.PaceOf(replica);
  const auto at = [&](size_t i) { return running[(first + i) % running.size()]; };
  for (size_t i = 0; i < std::min(kFetchAhead, count); ++i) Fetch(*at(i));
  for (size_t i = 0; i < count; ++i) {
    if (i + kFetchAhead < count) Fetch(*at(i + kFetchAhead));
    Refresh(at(i), replica, pace, now);
  }
}

void RunningRequests::AdvanceUnobserved(ReplicaState& replica, Instant now) {
  if (replica.unobserved() == 0) return;
  for (RequestState* request : replica.requests()) {
    const bool due = !request->arrived.observed && request->running.first_expected <= now;
    if (due && request->phase == RequestPhase::kPrefilling) replica.BecomeDecoding(request);
  }
  if (replica.unobserved() < static_cast<int64_t>(replica.requests().size())) return;
  if (replica.streams().sequences() <= 0) return;
  // No token is seen here: steps are taken to go on at their forecast length.
  const int busy = fleet_.BusyNeighbours(replica);
  const double step = replica.DecodeStep(busy);
  const Instant since = replica.last_step_end().value_or(now - Duration::Seconds(step));
  const int64_t steps = static_cast<int64_t>((now - since).seconds() / std::max(kLeastAdvance, step));
  replica.Advance(steps, since + Duration::Seconds(step * static_cast<double>(steps)), busy);
}

void RunningRequests::Refresh(RequestState* request, ReplicaState& replica, double pace, Instant now) {
  const int64_t generated = replica.Generated(*request);
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
    in.holding.held = prompt + (in.footprint.Of(tokens) - prompt) * request->arrived.sequences;
    in.holding.promised = std::max(in.holding.promised, in.holding.held);
    holdings.push_back(in.holding);
  }
  fleet_.ledger().Update(request->running.lease, holdings);
}

void RunningRequests::Leave(RequestState* request) {
  for (const PoolMembership& in : request->pools) fleet_.pool(in.pool).Leave(in.member);
  fleet_.replica(request->running.replica).Leave(request);
  if (!request->arrived.observed) --unobserved_;
}

}  // namespace penstock
