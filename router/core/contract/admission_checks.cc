#include "router/core/contract/admission_checks.h"

#include <algorithm>
#include <limits>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

constexpr Duration kOutageRetry = Duration::Seconds(5);

}  // namespace

Tokens SurePrompt(Tokens prompt, double sigma) {
  return Tokens(static_cast<int64_t>(prompt.AsDouble() * std::max(0.0, 1 - 2 * sigma)));
}

Tokens LongestPrompt(const Fleet& fleet, const ReplicaSpec& replica) {
  Tokens longest(std::numeric_limits<int64_t>::max());
  if (replica.max_context > Tokens(0)) longest = replica.max_context - Tokens(1);
  for (const PoolShare& share : replica.pools) {
    if (fleet.pools[share.pool.value()].limited) continue;  // Its limit may grow.
    longest = std::min(longest, share.footprint.TokensWithin(fleet.pools[share.pool.value()].capacity));
  }
  return longest;
}

Tokens LongestPossible(const ReplicaSpec& replica, Tokens longest) { return std::max(longest, replica.doubted_prompt); }

void FitCheck::Add(const ReplicaSpec& replica, Tokens longest) {
  const Tokens max_context = std::max(replica.max_context, replica.doubted_context);
  served_ = true;
  fits_ = fits_ || sure_ <= LongestPossible(replica, longest);
  context_ = std::max(context_, max_context);
  if (max_context == Tokens(0) || sure_ < max_context) pool_room_ = std::max(pool_room_, longest);
}

std::optional<Refuse> FitCheck::Finding() const {
  if (fits_) return std::nullopt;
  if (!served_) return Refuse{request_, Refusal::kUnknownModel, Duration(), 0, 0};
  const bool too_large = pool_room_ > Tokens(0);
  return Refuse{request_, too_large ? Refusal::kNeverFits : Refusal::kContextExceeded, Duration(),
                (too_large ? pool_room_ : context_).value(), prompt_.value()};
}

bool QueueIsFull(const CoreLimits& limits, int64_t requests, Bytes bytes) {
  return requests > limits.max_queued_requests || bytes > limits.max_queued_bytes;
}

Refuse QueueFullRefusal(RequestId request, const CoreLimits& limits, int64_t requests, Duration retry_after) {
  return {request, Refusal::kQueueFull, retry_after, limits.max_queued_requests, requests};
}

Refuse NoReplicaRefusal(RequestId request) { return {request, Refusal::kNoReplica, kOutageRetry, 0, 0}; }

Refuse ShutdownRefusal(RequestId request) { return {request, Refusal::kShuttingDown, Duration::Seconds(1), 0, 0}; }

bool IsPlaceable(Health health, bool tested) {
  return health == Health::kUp || (health == Health::kProbing && !tested);
}

bool IsUp(Health health) { return health == Health::kUp || health == Health::kProbing; }

bool Joins(const Fleet& before, const Fleet& after, size_t replica) {
  const auto is_there = [replica](const Fleet& fleet) {
    return replica < fleet.replicas.size() && !IsVacant(fleet.replicas[replica]) && !fleet.replicas[replica].removed;
  };
  return !before.replicas.empty() && is_there(after) && !is_there(before);
}

bool IsAwaited(Instant down_since, Instant now) { return down_since != Instant() && now - down_since < kOutageGrace; }

Duration BoundedRetryAfter(double seconds) { return Duration::Seconds(std::clamp(seconds, 1.0, 60.0)); }

}  // namespace penstock
