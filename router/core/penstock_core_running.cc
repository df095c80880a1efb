// Running requests of PenstockCore: progress, refresh of forecasts, fatal pools, learning.
#include <algorithm>
#include <cmath>

#include "router/core/penstock_core.h"

namespace penstock {
namespace {

// Before a fatal pool is full its requests must be gone: the time an abort takes, with the sampling that notices it.
constexpr double kFatalLookahead = 0.5;
constexpr double kFatalLimit = 0.98;
constexpr size_t kFetchAhead = 3;

void Fetch(const RequestState& request) {
  constexpr size_t kCacheLine = 64;
  const char* memory = reinterpret_cast<const char*>(&request);
  for (size_t i = 0; i < sizeof(request); i += kCacheLine) __builtin_prefetch(memory + i);
}

}  // namespace

void PenstockCore::Open(const ReplicaState& replica) {
  const auto open = [this](size_t index) {
    if (opened_[index]) return;
    opened_[index] = true;
    opened_list_.push_back(index);
  };
  const size_t index = static_cast<size_t>(&replica - replicas_.data());
  open(index);
  // Memory freed here may be what a neighbour in the same pool waited for, an idle GPU what speeds another up.
  for (const PoolShare& share : replica.spec().pools) {
    for (ReplicaId other : pools_[share.pool.value()].replicas) open(other.value());
  }
  if (!replica.busy()) {
    for (size_t other : neighbours_[index]) open(other);
  }
}

void PenstockCore::OpenPools() {
  for (PoolId pool : freed_) {
    for (ReplicaId member : pools_[pool.value()].replicas) Open(replicas_[member.value()]);
  }
  freed_.clear();
}

// Memory of an ended request in pools that its replica has left since: a reload moved it.
void PenstockCore::OpenFormerPools(const RequestState& request, const ReplicaState& replica) {
  const std::vector<PoolShare>& shares = replica.spec().pools;
  for (const RequestState::InPool& in : request.pools) {
    const bool still = std::any_of(shares.begin(), shares.end(), [&](const PoolShare& s) { return s.pool == in.pool; });
    if (!still) freed_.push_back(in.pool);
  }
  OpenPools();
}

void PenstockCore::LeaveReplica(RequestState* request) {
  for (const RequestState::InPool& in : request->pools) pools_[in.pool.value()].Leave(in.member);
  replicas_[request->replica.value()].Leave(request);
  if (!request->arrived.observed) --unobserved_;
}

void PenstockCore::CountTokens(RequestState* request, const ReplicaState& replica) {
  const int64_t generated = request->kept.value() + replica.Generated(*request);
  if (request->arrived.embedding || generated <= request->counted_tokens) return;
  outputs_.Advance(request->forecast_key, Tokens(request->counted_tokens), Tokens(generated));
  request->counted_tokens = generated;
}

void PenstockCore::Refresh(RequestState* request, ReplicaState& replica) {
  CountTokens(request, replica);
  if (request->pools.empty()) return;
  // It stays in the pools that it joined, whatever a reload made of its replica.
  member_scratch_.clear();
  for (const RequestState::InPool& in : request->pools) {
    member_scratch_.push_back(MemberOf(*request, replica, {in.pool, in.footprint}));
  }
  growth_scratch_.clear();
  AddContributions(member_scratch_, growth_scratch_);
  const Tokens tokens = request->Prompt() + Tokens(replica.Generated(*request));
  Holdings holdings;
  for (size_t i = 0; i < request->pools.size(); ++i) {
    RequestState::InPool& in = request->pools[i];
    pools_[in.pool.value()].Update(in.member, growth_scratch_[i], now_);
    const Amount prompt = in.footprint.Of(request->Prompt());
    in.holding.held = prompt + (in.footprint.Of(tokens) - prompt) * request->arrived.sequences;
    in.holding.promised = std::max(in.holding.promised, in.holding.held);
    holdings.push_back(in.holding);
  }
  ledger_.Update(request->lease, holdings);
}

void PenstockCore::RefreshSome(ReplicaState& replica, size_t most) {
  const std::vector<RequestState*>& requests = replica.requests();
  const size_t count = std::min(most, requests.size());
  const size_t first = replica.refresh_cursor < requests.size() ? replica.refresh_cursor : 0;
  const auto at = [&](size_t i) { return requests[(first + i) % requests.size()]; };
  // Of tens of thousands running requests none is in a cache any more.
  for (size_t i = 0; i < std::min(kFetchAhead, count); ++i) Fetch(*at(i));
  for (size_t i = 0; i < count; ++i) {
    if (i + kFetchAhead < count) Fetch(*at(i + kFetchAhead));
    Refresh(at(i), replica);
  }
  replica.refresh_cursor = first + count;
}

void PenstockCore::AdvanceUnobserved(ReplicaState& replica) {
  if (replica.unobserved() == 0) return;
  const std::vector<RequestState*> running = replica.requests();
  for (RequestState* request : running) {
    const bool due = !request->arrived.observed && request->first_expected <= now_;
    if (due && request->phase == RequestPhase::kPrefilling) replica.BecomeDecoding(request);
  }
  if (replica.unobserved() < static_cast<int64_t>(replica.requests().size()) || replica.decoding() <= 0) return;
  // Nobody's tokens are seen here: steps are taken to go on at their forecast length.
  const double step = replica.DecodeStep(BusyNeighbours(replica));
  const Instant since = replica.last_step_end().value_or(now_ - Duration::Seconds(step));
  const int64_t steps = static_cast<int64_t>((now_ - since).seconds() / std::max(1e-4, step));
  replica.Advance(steps, since + Duration::Seconds(step * static_cast<double>(steps)), BusyNeighbours(replica));
}

RequestState* PenstockCore::VictimIn(PoolId pool) const {
  RequestState* oldest = nullptr;
  RequestState* victim = nullptr;
  const auto cost = [this](const RequestState* request) {
    const ReplicaState& replica = replicas_[request->replica.value()];
    return std::pair(request->Prompt().value() + replica.Generated(*request), request->sequence);
  };
  for (ReplicaId id : pools_[pool.value()].replicas) {
    for (RequestState* request : replicas_[id.value()].requests()) {
      if (oldest == nullptr || request->sequence < oldest->sequence) oldest = request;
    }
  }
  for (ReplicaId id : pools_[pool.value()].replicas) {
    for (RequestState* request : replicas_[id.value()].requests()) {
      // The oldest always goes on, so that the pool as a whole makes progress.
      if (request == oldest || !request->arrived.regenerable) continue;
      if (victim == nullptr || cost(request) < cost(victim)) victim = request;
    }
  }
  return victim;
}

void PenstockCore::ProtectFatalPools(const ReplicaState& replica, Actions& actions) {
  for (const PoolShare& share : replica.spec().pools) {
    const PoolState& pool = pools_[share.pool.value()];
    if (!pool.spec.overflow_fatal) continue;
    for (;;) {
      double soon = pool.growth.Present(now_);
      for (ReplicaId id : pool.replicas) {
        const ReplicaState& member = replicas_[id.value()];
        soon += member.decoding() * member.TokensPerSecond(BusyNeighbours(member)) * kFatalLookahead *
                share.footprint.full_per_token;
      }
      if (soon <= kFatalLimit * ledger_.Available(share.pool).AsDouble()) break;
      RequestState* victim = VictimIn(share.pool);
      if (victim == nullptr) break;
      LeaveReplica(victim);
      victim->phase = RequestPhase::kAborting;
      // Until the edge has closed the connection the memory is not on its way back.
      ledger_.Drain(victim->lease, Instant::Never());
      ++counters_.aborts;
      actions.push_back(Abort{victim->arrived.request, victim->lease});
    }
  }
}

void PenstockCore::LearnFrom(RequestState* request, const RequestClosed& event, int64_t generated) {
  if (request->arrived.embedding || event.outcome != Outcome::kFinished) return;
  const int64_t counted = request->kept.value() + generated;
  const int64_t output = event.output > Tokens(0) ? event.output.value() / request->arrived.sequences : counted;
  if (output < 1) return;
  const Tokens length(output);
  if (output > request->counted_tokens) {
    outputs_.Advance(request->forecast_key, Tokens(request->counted_tokens), length);
  }
  if (!event.hit_limit) outputs_.Finish(request->forecast_key, length);
  if (request->p50 <= 0 || request->kept > Tokens(0)) return;
  const double actual = length.AsDouble();
  const auto score = [&](double quantile, double q, int64_t& below, double& pinball) {
    const double forecast = std::min(quantile, request->output_cap);
    if (actual <= forecast) ++below;
    pinball += actual > forecast ? q * (actual - forecast) : (1 - q) * (forecast - actual);
  };
  ++counters_.outputs_observed;
  score(request->p50, 0.5, counters_.outputs_below_p50, counters_.pinball_p50);
  score(request->p90, 0.9, counters_.outputs_below_p90, counters_.pinball_p90);
  score(request->p99, 0.99, counters_.outputs_below_p99, counters_.pinball_p99);
}

}  // namespace penstock
