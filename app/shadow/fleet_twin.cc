#include "app/shadow/fleet_twin.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using bench::SimulatedFleetSpec;
using bench::SimulatedReplica;

constexpr Tokens kLeastPool{64};

absl::Status Missing(const ReplicaSpec& replica, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("replica ", replica.name, ": ", what));
}

// Gives the copy its GPUs and shared pools.
class TwinBuilder {
 public:
  explicit TwinBuilder(const Fleet& fleet) : fleet_(fleet) {
    spec_.fleet = fleet;
    for (const GpuSpec& gpu : fleet.gpus) AddGpu(gpu.name);
    for (const ReplicaSpec& replica : fleet.replicas) {
      for (const PoolShare& share : replica.pools) users_[share.pool] += replica.removed ? 0 : 1;
    }
  }

  absl::Status Add(const ReplicaSpec& replica, double factor, double host_time) {
    SimulatedReplica& added = spec_.replicas.emplace_back();
    added.coefficients = replica.prior.Scaled(factor > 0 ? factor : 1);
    added.host_time = Duration::Seconds(host_time);
    if (replica.sleep) {
      added.wake = replica.sleep->wake;
      added.wake_dropped = replica.sleep->wake_dropped;
    }
    PlaceOnGpus(replica, added);
    simulated::EngineLimits& limits = added.limits;
    limits.max_sequences = replica.max_sequences;
    limits.batch_budget = replica.batch_budget;
    limits.max_context = replica.max_context;
    limits.prefix_cache = replica.prefix_cache > Tokens(0);
    limits.host_tokens = replica.host_cache.tokens;
    limits.host_seconds = replica.host_cache.seconds;
    limits.kv_tokens = kLeastPool;
    return replica.removed ? absl::OkStatus() : GiveMemory(replica, added);
  }

  SimulatedFleetSpec Take() && { return std::move(spec_); }

 private:
  int AddGpu(const std::string& name) {
    spec_.gpus.push_back(simulated::Sharing::kTimeSlicing);
    spec_.gpu_names.push_back(name);
    spec_.gpu_prices.push_back(0);
    return static_cast<int>(spec_.gpus.size()) - 1;
  }

  void PlaceOnGpus(const ReplicaSpec& replica, SimulatedReplica& added) {
    if (replica.gpus.empty()) added.gpus = {AddGpu(replica.name)};
    for (const uint32_t gpu : replica.gpus) {
      while (spec_.gpus.size() <= gpu) AddGpu(absl::StrCat("gpu", spec_.gpus.size()));
      if (!replica.time_sliced) spec_.gpus[gpu] = simulated::Sharing::kMps;
      added.gpus.push_back(static_cast<int>(gpu));
    }
  }

  absl::Status GiveMemory(const ReplicaSpec& replica, SimulatedReplica& added) {
    if (replica.pools.empty()) return Missing(replica, "its KV memory is unknown");
    simulated::EngineLimits& limits = added.limits;
    Tokens least = Footprint::kUnboundedTokens;
    for (const PoolShare& share : replica.pools) {
      const PoolSpec& pool = fleet_.pools[share.pool.value()];
      if (pool.limited) return Missing(replica, "its elastic memory has limits that others move");
      if (pool.overflow_fatal) limits.overflow = simulated::Overflow::kError;
      const Tokens tokens = share.footprint.TokensWithin(pool.capacity);
      if (tokens < least) least = tokens;
      limits.block = std::max(Tokens(1), share.footprint.block);
      if (users_[share.pool] > 1) Share(share, pool, added);
    }
    if (least >= Footprint::kUnboundedTokens) return Missing(replica, "its memory does not grow by tokens");
    if (limits.overflow == simulated::Overflow::kError) {
      limits.block = Tokens(1);
      limits.prefix_cache = false;
    }
    limits.kv_tokens = std::max(least, limits.block * 2);
    return absl::OkStatus();
  }

  // Several replicas take their blocks from one memory.
  void Share(const PoolShare& share, const PoolSpec& pool, SimulatedReplica& added) {
    const auto [found, is_new] = elastic_.emplace(share.pool, static_cast<int>(spec_.elastic.size()));
    if (is_new) spec_.elastic.emplace_back(pool.capacity.value());
    added.elastic = found->second;
    added.limits.prefix_cache = false;
    added.limits.block_bytes = Bytes(share.footprint.Of(added.limits.block).value());
  }

  const Fleet& fleet_;
  SimulatedFleetSpec spec_;
  std::map<PoolId, int> users_;
  std::map<PoolId, int> elastic_;
};

}  // namespace

absl::StatusOr<SimulatedFleetSpec> TwinOf(const Fleet& fleet, const CoreView& learned) {
  TwinBuilder builder(fleet);
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const bool known = i < learned.replicas.size();
    const double factor = known ? learned.replicas[i].step_factor : 1;
    absl::Status added = builder.Add(fleet.replicas[i], factor, known ? learned.replicas[i].host_time : 0);
    if (!added.ok()) return added;
  }
  return std::move(builder).Take();
}

double DriftOf(const CoreView& before, const CoreView& now) {
  double most = 1;
  for (size_t i = 0; i < std::min(before.replicas.size(), now.replicas.size()); ++i) {
    const double old_factor = before.replicas[i].step_factor;
    const double factor = now.replicas[i].step_factor;
    if (old_factor > 0 && factor > 0) most = std::max({most, factor / old_factor, old_factor / factor});
  }
  return most;
}

}  // namespace penstock
