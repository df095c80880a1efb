// Waiting requests of PenstockCore: the queue, lateness, and placement at dequeue.
#include <algorithm>
#include <cmath>
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

}  // namespace

void PenstockCore::Enqueue(RequestState* request) {
  request->phase = RequestPhase::kWaiting;
  request->tried_everywhere = false;
  lanes_[request->arrived.model.value()].Push(request);
  ++queued_requests_;
  queued_bytes_ += request->arrived.body;
  request->next_check = NextCheckOf(*request);
  checks_.insert({request->next_check, request->arrived.request});
}

void PenstockCore::Dequeue(RequestState* request) {
  lanes_[request->arrived.model.value()].Remove(request);
  --queued_requests_;
  queued_bytes_ -= request->arrived.body;
  checks_.erase({request->next_check, request->arrived.request});
}

void PenstockCore::ScheduleCheck(RequestState* request) {
  checks_.erase({request->next_check, request->arrived.request});
  request->next_check = std::max(NextCheckOf(*request), now_ + Duration::Milliseconds(1));
  checks_.insert({request->next_check, request->arrived.request});
}

Instant PenstockCore::NextCheckOf(const RequestState& request) const {
  const ClassSpec& goals = GoalsOf(request);
  Instant next = request.committed ? Instant::Never() : request.waits_since + goals.queue;
  const bool goal_binds =
      options_.refuse_late && goals.refuse_late && !request.committed && !request.begun && request.kept == Tokens(0);
  Instant latest;
  bool feasible = false;
  Instant down_since;
  bool up = false;
  for (size_t index : ServersOf(request.arrived.model)) {
    const ReplicaState& replica = replicas_[index];
    if (!Placeable(replica) && replica.health != Health::kProbing) {
      down_since = std::max(down_since, replica.down_since);
      continue;
    }
    up = true;
    if (!goal_binds) break;
    if (!TtftFeasible(request, replica, goals)) continue;
    feasible = true;
    const Instant here =
        LatestDispatch(request, replica, goals, fleet_.limits.dispatch_delay.seconds(), BusyNeighbours(replica));
    latest = std::max(latest, here);
  }
  if (!up) return std::min(next, down_since + kReturnGrace);
  if (goal_binds && feasible) next = std::min(next, latest + Duration::Nanoseconds(1));
  return next;
}

std::optional<Refusal> PenstockCore::LateReason(const RequestState& request) const {
  if (DownForGood(request.arrived.model)) return Refusal::kNoReplica;
  if (request.committed || request.next_check > now_ || NextCheckOf(request) > now_) return std::nullopt;
  if (now_ >= request.waits_since + GoalsOf(request).queue) return Refusal::kQueueTimeout;
  if (!AnyReplicaUp(request.arrived.model)) return std::nullopt;
  return Refusal::kDeadlineUnreachable;
}

void PenstockCore::RefuseWaiting(RequestState* request, Refusal reason, Actions& actions) {
  Refuse refuse{request->arrived.request, reason, RetryAfter(*request), 0, 0};
  if (reason == Refusal::kQueueFull) {
    refuse.bound = fleet_.limits.max_queued_requests;
    refuse.value = queued_requests_;
  }
  actions.push_back(refuse);
  if (reason == Refusal::kDeadlineUnreachable) density_.Refused(request->arrived.tenant, request->arrived.prompt);
  Dequeue(request);
  requests_.erase(refuse.request);
}

void PenstockCore::RefuseLate(Actions& actions) {
  while (!checks_.empty() && checks_.begin()->first <= now_) {
    RequestState* request = Find(checks_.begin()->second);
    if (const std::optional<Refusal> reason = LateReason(*request)) {
      RefuseWaiting(request, *reason, actions);
    } else {
      ScheduleCheck(request);
    }
  }
}

Duration PenstockCore::RetryAfter(const RequestState& request) const {
  const ModelId model = request.arrived.model;
  if (model.value() >= lanes_.size()) return Duration::Seconds(1);
  const Lane& lane = lanes_[model.value()];
  const double rate = lane.DrainRate(now_);
  const double seconds = rate > 0 ? static_cast<double>(lane.size() + 1) / rate : 1;
  return Duration::Seconds(std::clamp(seconds, 1.0, 60.0));
}

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

void PenstockCore::PrepareForecast(RequestState* request) {
  const RequestArrived& arrived = request->arrived;
  if (options_.true_output) request->true_output = options_.true_output(arrived.request);
  const TenantId tenant = options_.tenant_curves ? arrived.tenant : TenantId();
  request->forecast_key = {arrived.model, tenant, arrived.prompt, arrived.max_output > Tokens(0)};
  request->curve = outputs_.CurveFor(request->forecast_key);
}

double PenstockCore::ExpectedWork(const RequestState& request, double output) const {
  const double prompt = request.Prompt().AsDouble();
  double work = 0;
  for (size_t index : ServersOf(request.arrived.model)) {
    const ReplicaState& replica = replicas_[index];
    const StepModel& model = replica.steps_model();
    const double rows = replica.spec().max_sequences;
    const double token = model.DecodeStep(rows, rows * (prompt + output / 2), 0) / rows;
    const double here = model.PrefillToken(0) * replica.PrefillOf(request).AsDouble() + token * output;
    work = work > 0 ? std::min(work, here) : here;
  }
  return work;
}

Instant PenstockCore::PlaceInLane(const RequestState& request) {
  const ClassSpec& goals = GoalsOf(request);
  const Instant due = request.arrival + goals.ttft;
  if (options_.order == QueueOrder::kDeadline || !goals.refuse_late || request.arrived.embedding) return due;
  const double output = request.true_output ? request.true_output->AsDouble() : request.curve->MeanRemaining(0, 1e9);
  const double work = ExpectedWork(request, output);
  switch (options_.order) {
    case QueueOrder::kFairDensity: {
      const double shift = density_.Shift(request.arrived.tenant, request.arrived.prompt, work / output);
      return due + Duration::Seconds(shift * goals.ttft.seconds());
    }
    case QueueOrder::kDeadline:
      break;
    case QueueOrder::kDensity:
      return Instant() + Duration::Seconds(work / output);
    case QueueOrder::kShortestWork:
      return Instant() + Duration::Seconds(work);
  }
  return due;
}

GrowthMember PenstockCore::MemberOf(const RequestState& request, const ReplicaState& replica,
                                    const Footprint& footprint) const {
  GrowthMember member;
  member.footprint = footprint;
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
  return member;
}

void PenstockCore::Contributions(const RequestState& request, const ReplicaState& replica,
                                 std::vector<GrowthVector>& out) const {
  out.clear();
  for (const PoolShare& share : replica.spec().pools) {
    GrowthMember member = MemberOf(request, replica, share.footprint);
    if (pools_[share.pool.value()].spec.overflow_fatal) {
      member.prompt *= 1 + kUpperBand * request.arrived.prompt_sigma;
      if (!request.arrived.regenerable) member.curve = nullptr;
    }
    out.push_back(ContributionOf(member));
  }
}

std::optional<PenstockCore::Choice> PenstockCore::Choose(RequestState* request, const std::vector<size_t>& among) {
  const PlacementContext context = Context();
  const std::vector<size_t>& servers = ServersOf(request->arrived.model);
  const bool can_avoid = !request->avoid.empty() && std::any_of(servers.begin(), servers.end(), [&](size_t index) {
    return !request->Avoids(index) && Placeable(replicas_[index]);
  });
  std::vector<Choice>& fitting = choices_;
  fitting.clear();
  WaitReason reason = WaitReason::kNoReplicaUp;
  for (size_t i : among) {
    const ReplicaState& replica = replicas_[i];
    if (!Placeable(replica) || (can_avoid && request->Avoids(i))) continue;
    const GuardVerdict guards = TestGuards(*request, replica, BusyNeighbours(replica), context);
    if (guards.blocked) {
      reason = std::max(reason, *guards.blocked);
      continue;
    }
    Contributions(*request, replica, growth_scratch_);
    const MemoryVerdict memory = TestMemory(replica, growth_scratch_, context);
    if (!memory.fits) {
      reason = std::max(reason, WaitReason::kMemory);
      continue;
    }
    fitting.push_back({i, memory.peak_share, guards.expected_ttft, replica.PrefillOf(*request)});
  }
  if (fitting.empty()) {
    if (reason != WaitReason::kNoReplicaUp || &among == &servers) request->wait_reason = reason;
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
  Contributions(*request, replica, growth_scratch_);
  Dequeue(request);
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
    pool.growth.Add(growth_scratch_[i]);
    pool.risk.Dispatched();
    request->pools.push_back({share.pool, share.footprint, growth_scratch_[i], holdings.back(), pool.epoch});
  }
  request->lease = ledger_.Open(holdings);
  replica.Join(request, now_);
  lanes_[request->arrived.model.value()].Dispatched(*request, now_);
  if (request->returns == 0) density_.Served(request->arrived.tenant, request->arrived.prompt);
  actions.push_back(Forward{request->arrived.request, request->replica, request->lease, now_ - request->arrival,
                            Duration::Seconds(choice.expected_ttft), choice.peak_share});
}

void PenstockCore::Pump(Lane& lane, Actions& actions) {
  std::vector<RequestState*> blocked;
  bool progress = true;
  while (progress && !lane.empty() && blocked.size() <= kLookPast) {
    progress = false;
    lane.Candidates(candidates_);
    for (RequestState* request : candidates_) {
      if (std::find(blocked.begin(), blocked.end(), request) != blocked.end()) continue;
      if (const std::optional<Refusal> late = LateReason(*request)) {
        RefuseWaiting(request, *late, actions);
        progress = true;
        continue;
      }
      const std::vector<size_t>& servers = ServersOf(request->arrived.model);
      reopened_.clear();
      if (request->tried_everywhere) {
        for (size_t index : opened_list_) {
          if (std::binary_search(servers.begin(), servers.end(), index)) reopened_.push_back(index);
        }
      }
      const std::vector<size_t>& among = request->tried_everywhere ? reopened_ : servers;
      request->tried_everywhere = true;
      if (std::optional<Choice> choice = Choose(request, among)) {
        Dispatch(request, *choice, actions);
        progress = true;
        continue;
      }
      blocked.push_back(request);
      const bool starving = request->wait_reason == WaitReason::kMemory && !GoalsOf(*request).refuse_late &&
                            now_ - request->arrival > kStarving;
      if (starving) return;
    }
  }
}

void PenstockCore::PumpOpened(Actions& actions) {
  if (opened_list_.empty()) return;
  // In the order of replicas, whatever order they changed in.
  std::sort(opened_list_.begin(), opened_list_.end());
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].empty()) continue;
    const bool open = std::any_of(opened_list_.begin(), opened_list_.end(), [&](size_t index) {
      const std::vector<ModelId>& models = replicas_[index].spec().models;
      return std::find(models.begin(), models.end(), ModelId(static_cast<uint32_t>(i))) != models.end();
    });
    if (open || servers_[i].empty()) Pump(lanes_[i], actions);
  }
  for (size_t index : opened_list_) opened_[index] = false;
  opened_list_.clear();
}

}  // namespace penstock
