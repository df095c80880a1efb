// Which replicas a rival may choose from, and what it refuses: at once, after its class's queue time, or as too late.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "router/policies/kit/rival_core.h"

namespace penstock {
namespace {

constexpr double kMaxRetrySeconds = 60;

// The prompt at the low end of its band: an estimate must not refuse what the engine would take.
double SmallestPrompt(const RequestArrived& request) {
  return request.prompt.AsDouble() * std::max(0.0, 1 - 2 * request.prompt_sigma);
}

}  // namespace

std::optional<Refuse> RivalCore::RefusalAtArrival(const RequestArrived& request) const {
  if (draining_) return MakeRefusal(request, Refusal::kShuttingDown, Instant());
  bool served = false, in_context = false, in_pools = false, up = false;
  Tokens longest{0};
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    const ReplicaSpec& spec = fleet_.replicas[i];
    if (!Serves(spec, request.model)) continue;
    served = true;
    longest = std::max(longest, spec.max_context);
    if (!FitsContext(spec, request)) continue;
    in_context = true;
    if (!FitsPools(spec, request)) continue;
    in_pools = true;
    up = up || replicas_[i].health == Health::kUp || replicas_[i].health == Health::kProbing;
  }
  if (!served) return MakeRefusal(request, Refusal::kUnknownModel, Instant());
  if (!in_context || !in_pools) {
    Refuse refusal = MakeRefusal(request, in_context ? Refusal::kNeverFits : Refusal::kContextExceeded, Instant());
    refusal.bound = longest.value();
    refusal.value = (request.prompt + request.max_output).value();
    return refusal;
  }
  if (!up) return MakeRefusal(request, Refusal::kNoReplica, Instant());
  return std::nullopt;
}

Refuse RivalCore::MakeRefusal(const RequestArrived& request, Refusal reason, Instant now) const {
  return Refuse{request.request, reason, TraitsOf(reason).retryable ? RetryAfter(now) : Duration(), 0, 0};
}

std::vector<ReplicaId> RivalCore::Candidates(const Waiting& waiting) const {
  std::vector<ReplicaId> candidates;
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    const ReplicaSpec& spec = fleet_.replicas[i];
    const ReplicaState& state = replicas_[i];
    // One request at a time until a replica that came back has proved itself.
    const bool open = state.health == Health::kUp || (state.health == Health::kProbing && state.running == 0);
    if (open && Serves(spec, waiting.request.model) && FitsContext(spec, waiting.request) &&
        FitsPools(spec, waiting.request)) {
      candidates.emplace_back(static_cast<uint32_t>(i));
    }
  }
  if (waiting.avoid && candidates.size() > 1) std::erase(candidates, *waiting.avoid);
  return candidates;
}

bool RivalCore::Serves(const ReplicaSpec& spec, ModelId model) const {
  return !spec.removed && std::find(spec.models.begin(), spec.models.end(), model) != spec.models.end();
}

bool RivalCore::FitsContext(const ReplicaSpec& spec, const RequestArrived& request) const {
  if (spec.max_context == Tokens(0)) return true;
  const double output = request.embedding ? 0 : std::max(1.0, request.max_output.AsDouble());
  return SmallestPrompt(request) + output <= spec.max_context.AsDouble();
}

bool RivalCore::FitsPools(const ReplicaSpec& spec, const RequestArrived& request) const {
  const Tokens prompt(static_cast<int64_t>(SmallestPrompt(request)));
  return std::all_of(spec.pools.begin(), spec.pools.end(), [&](const PoolShare& share) {
    return share.footprint.Of(prompt) <= fleet_.pools[share.pool.value()].capacity;
  });
}

Duration RivalCore::IdleFirstToken(const ReplicaSpec& spec, Tokens prompt) const {
  return Duration::Seconds((spec.prior.d * prompt.AsDouble() + spec.prior.a) * 1e-3);
}

void RivalCore::SetExpiry(Waiting& waiting) const {
  assert(waiting.request.service_class.value() < fleet_.classes.size());
  const ClassSpec& service_class = fleet_.classes[waiting.request.service_class.value()];
  waiting.expires = waiting.arrived + QueueTime(service_class);
  waiting.expires_with = Refusal::kQueueTimeout;
  if (!RefusesLate() || !service_class.refuse_late) return;
  Duration fastest = Duration::Infinite();
  for (const ReplicaSpec& spec : fleet_.replicas) {
    if (Serves(spec, waiting.request.model)) {
      fastest = std::min(fastest, IdleFirstToken(spec, waiting.request.prompt));
    }
  }
  const Duration needed = fleet_.limits.dispatch_delay + fastest;
  if (needed > service_class.ttft) return;
  const Instant late = waiting.arrived + service_class.ttft - needed;
  if (late >= waiting.expires) return;
  waiting.expires = late;
  waiting.expires_with = Refusal::kDeadlineUnreachable;
}

Duration RivalCore::RetryAfter(Instant now) const {
  const double age = std::max(0.0, (now - forward_rate_at_).seconds());
  const double rate = forward_rate_ * std::exp(-age / kForwardRateSeconds);
  const double seconds = rate > 0 ? static_cast<double>(waiting_.size() + 1) / rate : kMaxRetrySeconds;
  return Duration::Seconds(std::clamp(std::ceil(seconds), 1.0, kMaxRetrySeconds));
}

}  // namespace penstock
