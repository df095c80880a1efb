// Placement of PenstockCore: which waiting requests are tried, where, and what a dispatch changes.
#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "router/core/penstock_core.h"

namespace penstock {
namespace {

// A head that memory kept waiting for this long, and that no deadline will end, stops others from going past it.
constexpr Duration kStarving = Duration::Seconds(10);
// Where neither the client nor the context bounds an output.
constexpr double kUnboundedOutput = 131'072;
// How much fuller than the emptiest a pool may be and still be preferred for its engine's cached prefix.
constexpr double kPrefixBand = 0.1;
// Fatal pools count a prompt at the upper end of its band.
constexpr double kUpperBand = 1.64;
// A large fleet is not searched at once: the emptiest replicas come first, then the others as later events pay for
// them.
constexpr size_t kEmptiest = 16;
constexpr size_t kHolders = 8;  // Of the request's cached prefix, besides.

}  // namespace

int PenstockCore::BusyNeighbours(const ReplicaState& replica) const {
  const size_t index = static_cast<size_t>(&replica - replicas_.data());
  int busy = 0;
  for (size_t other : neighbours_[index]) busy += replicas_[other].busy() ? 1 : 0;
  return busy;
}

PlacementContext PenstockCore::Context() const {
  return PlacementContext{pools_, fleet_.classes, ledger_, options_, fleet_.limits.dispatch_delay.seconds(), now_};
}

double PenstockCore::OutputCap(const RequestState& request, const ReplicaState& replica) const {
  if (request.arrived.embedding) return 0;
  double cap = kUnboundedOutput;
  if (request.arrived.max_output > Tokens(0)) cap = (request.arrived.max_output - request.kept).AsDouble();
  if (replica.spec().max_context > Tokens(0)) {
    cap = std::min(cap, (replica.spec().max_context - request.Prompt()).AsDouble());
  }
  return std::max(1.0, cap);
}

GrowthMember PenstockCore::MemberOf(const RequestState& request, const ReplicaState& replica,
                                    const PoolShare& share) const {
  GrowthMember member;
  member.footprint = share.footprint;
  member.prompt = request.Prompt().AsDouble();
  member.prompt_sigma = request.arrived.prompt_sigma;
  member.generated = static_cast<double>(replica.Generated(request));
  member.output_cap = OutputCap(request, replica);
  member.sequences = request.arrived.sequences;
  member.tokens_per_s = replica.TokensPerSecond(BusyNeighbours(replica));
  if (request.phase == RequestPhase::kPrefilling) {
    member.starts_in = std::max(0.0, (request.first_expected - now_).seconds());
  }
  member.curve = request.curve.get();
  if (request.true_output && options_.true_growth) {
    member.curve = nullptr;
    member.output_cap = std::min(member.output_cap, (*request.true_output - request.kept).AsDouble());
  }
  if (pools_[share.pool.value()].spec.overflow_fatal) {
    member.prompt *= 1 + kUpperBand * request.arrived.prompt_sigma;
    if (!request.arrived.regenerable) member.curve = nullptr;
  }
  return member;
}

const std::vector<GrowthMember>& PenstockCore::MembersOf(const RequestState& request, const ReplicaState& replica) {
  member_scratch_.clear();
  for (const PoolShare& share : replica.spec().pools) member_scratch_.push_back(MemberOf(request, replica, share));
  return member_scratch_;
}

std::optional<double> PenstockCore::TestMemory(const RequestState& request, const ReplicaState& replica) {
  const PlacementContext context = Context();
  const std::vector<PoolShare>& shares = replica.spec().pools;
  const std::vector<GrowthMember>& members = MembersOf(request, replica);
  // Where there was no room just now there mostly is none, and one horizon tells.
  for (size_t i = 0; i < shares.size(); ++i) {
    const PoolId pool = shares[i].pool;
    if (pools_[pool.value()].crowded && CannotFit(members[i], pool, context)) return std::nullopt;
  }
  const size_t first = choice_growth_.size();
  AddContributions(members, choice_growth_);
  const MemoryVerdict memory = penstock::TestMemory(replica, std::span(choice_growth_).subspan(first), context);
  for (const PoolShare& share : shares) pools_[share.pool.value()].crowded = !memory.fits;
  if (memory.fits) return memory.peak_share;
  choice_growth_.resize(first);
  return std::nullopt;
}

Tokens PenstockCore::LengthNeeded(const RequestState& request) const {
  const Tokens least = LeastPrompt(request);
  const std::vector<size_t>& servers = ServersOf(request.arrived.model);
  const bool fits = std::any_of(servers.begin(), servers.end(), [&](size_t index) { return least <= longest_[index]; });
  return fits ? least : Tokens(0);
}

bool PenstockCore::Spend(size_t tries) {
  if (budget_ < tries) return false;
  budget_ -= tries;
  return true;
}

double PenstockCore::FullnessOf(const ReplicaState& replica) const {
  constexpr double kClosed = 1e6;
  const ReplicaSpec& spec = replica.spec();
  if (!Placeable(replica) || replica.sequences() >= spec.max_sequences) return kClosed;
  double fullest = static_cast<double>(replica.sequences()) / std::max(1, spec.max_sequences);
  if (!spec.pools.empty()) fullest = 0;
  for (const PoolShare& share : spec.pools) {
    const PoolState& pool = pools_[share.pool.value()];
    const double free = ledger_.Available(share.pool).AsDouble() - pool.growth.Present(now_);
    fullest = std::max(fullest, 1 - free / std::max(1.0, pool.spec.capacity.AsDouble()));
  }
  return fullest;
}

ReplicaBrief PenstockCore::BriefOf(const ReplicaState& replica) const {
  const StepModel& model = replica.steps_model();
  return {FullnessOf(replica), model.Factor(0), model.Factor(BusyNeighbours(replica)),
          replica.health == Health::kUp || replica.health == Health::kProbing};
}

void PenstockCore::AddEmptiest(const RequestState& request) {
  const std::vector<size_t>& servers = ServersOf(request.arrived.model);
  by_fullness_.clear();
  const Tokens needed = LengthNeeded(request);
  for (size_t index : servers) {
    if (needed <= longest_[index]) by_fullness_.push_back({briefs_[index].fullness, index});
  }
  const size_t emptiest = std::min(kEmptiest, by_fullness_.size());
  std::nth_element(by_fullness_.begin(), by_fullness_.begin() + static_cast<std::ptrdiff_t>(emptiest),
                   by_fullness_.end());
  for (size_t i = 0; i < emptiest; ++i) among_.push_back(by_fullness_[i].second);
  if (request.arrived.prefix.empty()) return;
  size_t holders = 0;
  for (size_t i = emptiest; i < by_fullness_.size() && holders < kHolders; ++i) {
    const size_t index = by_fullness_[i].second;
    if (replicas_[index].prefixes.Match(request.arrived.prefix) == 0) continue;
    among_.push_back(index);
    ++holders;
  }
}

const std::vector<size_t>& PenstockCore::ReplicasToTry(RequestState* request) {
  const std::vector<size_t>& servers = ServersOf(request->arrived.model);
  among_.clear();
  if (!request->tried_emptiest && servers.size() <= kEmptiest + kHolders) {
    if (!Spend(servers.size())) return among_;
    request->tried_emptiest = true;
    request->next_server = servers.size();
    return servers;
  }
  if (!request->tried_emptiest) {
    if (!Spend(kEmptiest)) return among_;
    request->tried_emptiest = true;
    AddEmptiest(*request);
  } else if (request->next_server < servers.size()) {
    const size_t more = std::min(budget_, servers.size() - request->next_server);
    Spend(more);
    for (size_t i = 0; i < more; ++i) among_.push_back(servers[request->next_server++]);
  }
  for (size_t index : opened_list_) {
    if (!std::binary_search(servers.begin(), servers.end(), index)) continue;
    if (std::find(among_.begin(), among_.end(), index) == among_.end()) among_.push_back(index);
  }
  return among_;
}

std::optional<PenstockCore::Choice> PenstockCore::Choose(RequestState* request) {
  const PlacementContext context = Context();
  const std::vector<size_t>& servers = ServersOf(request->arrived.model);
  const Tokens needed = LengthNeeded(*request);
  const bool can_avoid = !request->avoid.empty() && std::any_of(servers.begin(), servers.end(), [&](size_t index) {
    return !request->Avoids(index) && needed <= longest_[index] && Placeable(replicas_[index]);
  });
  std::vector<Choice>& fitting = choices_;
  fitting.clear();
  choice_growth_.clear();
  WaitReason reason = WaitReason::kNoReplicaUp;
  const std::vector<size_t>& among = ReplicasToTry(request);
  if (among.empty()) return std::nullopt;
  for (size_t i : among) {
    const ReplicaState& replica = replicas_[i];
    if (!Placeable(replica) || needed > longest_[i] || (can_avoid && request->Avoids(i))) continue;
    const Tokens prefill = replica.PrefillOf(*request);
    const GuardVerdict guards = TestGuards(*request, prefill, replica, BusyNeighbours(replica), context);
    if (guards.blocked) {
      reason = std::max(reason, *guards.blocked);
      continue;
    }
    const size_t growth = choice_growth_.size();
    const std::optional<double> peak_share = TestMemory(*request, replica);
    if (!peak_share) {
      reason = std::max(reason, WaitReason::kMemory);
      continue;
    }
    fitting.push_back({i, *peak_share, guards.expected_ttft, prefill, growth});
  }
  if (fitting.empty()) {
    if (reason != WaitReason::kNoReplicaUp || request->wait_reason == WaitReason::kBehindOthers) {
      request->wait_reason = reason;
    }
    return std::nullopt;
  }
  double lowest = fitting.front().peak_share;
  for (const Choice& choice : fitting) lowest = std::min(lowest, choice.peak_share);
  // Among pools about as full as the emptiest, the one whose engine has to compute least.
  const auto rank = [lowest](const Choice& choice) {
    const bool close = choice.peak_share <= lowest + kPrefixBand;
    return std::tuple(!close, close ? choice.prefill : Tokens(0), choice.peak_share, choice.expected_ttft);
  };
  return *std::min_element(fitting.begin(), fitting.end(),
                           [&](const Choice& a, const Choice& b) { return rank(a) < rank(b); });
}

void PenstockCore::Dispatch(RequestState* request, const Choice& choice, Actions& actions) {
  ReplicaState& replica = replicas_[choice.replica];
  request->replica = ReplicaId(static_cast<uint32_t>(choice.replica));
  request->output_cap = OutputCap(*request, replica);
  request->counted_tokens = request->kept.value();
  request->first_expected = now_ + Duration::Seconds(choice.expected_ttft);
  if (!request->arrived.embedding) {
    request->p50 = request->curve->Quantile(0.5);
    request->p90 = request->curve->Quantile(0.9);
    request->p99 = request->curve->Quantile(0.99);
  }
  double expected = request->arrived.embedding ? 0 : request->curve->MeanRemaining(0, request->output_cap);
  if (request->true_output) expected = (*request->true_output - request->kept).AsDouble();
  Holdings holdings;
  for (size_t i = 0; i < replica.spec().pools.size(); ++i) {
    const PoolShare& share = replica.spec().pools[i];
    const Amount prompt = share.footprint.Of(request->Prompt());
    const Amount one = share.footprint.Of(request->Prompt() + Tokens(static_cast<int64_t>(expected)));
    const Amount promised = prompt + (one - prompt) * request->arrived.sequences;
    holdings.push_back({share.pool, prompt, promised});
    PoolState& pool = pools_[share.pool.value()];
    pool.risk.Dispatched();
    RequestState::InPool& in = request->pools.emplace_back();
    in.pool = share.pool;
    in.footprint = share.footprint;
    in.holding = holdings.back();
    pool.Join(in.member, choice_growth_[choice.growth + i], now_);
  }
  request->lease = ledger_.Open(holdings);
  replica.Join(request, now_);
  if (!request->arrived.observed) ++unobserved_;
  for (const PoolShare& share : replica.spec().pools) {
    for (ReplicaId member : pools_[share.pool.value()].replicas) {
      briefs_[member.value()].fullness = FullnessOf(replicas_[member.value()]);
    }
  }
  lanes_[request->arrived.model.value()].Dispatched(*request, now_);
  if (request->requeues == 0) density_.Served(request->arrived.tenant, request->arrived.prompt);
  actions.push_back(Forward{request->arrived.request, request->replica, request->lease, now_ - request->arrival,
                            Duration::Seconds(choice.expected_ttft), choice.peak_share});
}

bool PenstockCore::TriedEverywhere(const RequestState& request) const {
  return request.next_server >= ServersOf(request.arrived.model).size();
}

void PenstockCore::Pump(size_t index, Actions& actions) {
  ++pumps_;
  TryLane(index, actions);
  // Whom nobody looked at has missed what opened just now.
  untried_[index] = static_cast<int64_t>(blocked_.size()) < lanes_[index].size();
  if (untried_[index]) skipped_[index] = pumps_;
}

void PenstockCore::TryLane(size_t index, Actions& actions) {
  Lane& lane = lanes_[index];
  unfinished_[index] = false;
  blocked_.clear();
  bool progress = true;
  while (progress && !lane.empty() && blocked_.size() <= kLookPast) {
    progress = false;
    lane.Candidates(candidates_);
    for (RequestState* request : candidates_) {
      if (std::find(blocked_.begin(), blocked_.end(), request) != blocked_.end()) continue;
      if (const std::optional<Refusal> late = LateReason(request)) {
        unfinished_[index] = !Spend(kRefusalTries);
        if (unfinished_[index]) return;
        RefuseWaiting(request, *late, actions);
        progress = true;
        continue;
      }
      if (request->tried_at < skipped_[index]) request->ForgetTries();
      request->tried_at = pumps_;
      if (std::optional<Choice> choice = Choose(request)) {
        Dequeue(request);
        Dispatch(request, *choice, actions);
        progress = true;
        continue;
      }
      blocked_.push_back(request);
      if (!TriedEverywhere(*request)) unfinished_[index] = true;
      const bool starving = request->wait_reason == WaitReason::kMemory && !GoalsOf(*request).refuse_late &&
                            now_ - request->arrival > kStarving;
      if (starving && TriedEverywhere(*request)) return;
    }
  }
}

void PenstockCore::PumpOpened(Actions& actions) {
  // In the order of replicas, whatever order they changed in.
  std::sort(opened_list_.begin(), opened_list_.end());
  for (size_t index : opened_list_) {
    briefs_[index] = BriefOf(replicas_[index]);
    for (ModelId model : replicas_[index].spec().models) unfinished_[model.value()] = true;
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (unfinished_[i] || (servers_[i].replicas().empty() && !lanes_[i].empty())) Pump(i, actions);
  }
  for (size_t index : opened_list_) opened_[index] = false;
  opened_list_.clear();
}

}  // namespace penstock
