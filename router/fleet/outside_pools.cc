#include "router/fleet/outside_pools.h"

#include <algorithm>
#include <string>
#include <vector>

#include "config/values/capacity.h"

namespace penstock {
namespace {

// The pool of the replica on this GPU; null: unknown, or not in bytes.
const PoolSpec* PoolOn(const Fleet& fleet, const ReplicaSpec& replica, uint32_t gpu) {
  for (size_t i = 0; i < replica.pools.size() && i < replica.gpus.size(); ++i) {
    const PoolSpec& pool = fleet.pools[replica.pools[i].pool.value()];
    if (replica.gpus[i] == gpu) return pool.in_bytes ? &pool : nullptr;
  }
  return nullptr;
}

}  // namespace

std::optional<Bytes> MemoryOutsidePools(const FleetBook& book, uint32_t gpu) {
  const Fleet& fleet = book.fleet();
  const GpuSpec& spec = fleet.gpus[gpu];
  const GpuConfig* known = FindGpu(book.config(), spec.name);
  if (known == nullptr || known->kind.memory <= Bytes(0)) return std::nullopt;
  Bytes left = known->kind.memory - spec.elastic;
  std::vector<const PoolSpec*> counted;
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const ReplicaSpec& replica = fleet.replicas[i];
    if (replica.removed || std::find(replica.gpus.begin(), replica.gpus.end(), gpu) == replica.gpus.end()) continue;
    const std::string model = replica.models.empty() ? "" : fleet.models[replica.models.front().value()].name;
    const ReplicaConfig& config = book.replica_config(ReplicaId(static_cast<uint32_t>(i)));
    const std::optional<Bytes> weights = WeightsPerGpu(book.config(), config, model);
    const PoolSpec* pool = PoolOn(fleet, replica, gpu);
    if (!weights || pool == nullptr) return std::nullopt;
    left -= *weights;
    const bool apart = spec.elastic == Bytes(0) && std::find(counted.begin(), counted.end(), pool) == counted.end();
    if (apart) left -= Bytes(pool->capacity.value());
    counted.push_back(pool);
  }
  return std::max(Bytes(0), left);
}

void AddMemoryOutsidePools(const FleetBook& book, GpuReport& report) {
  const size_t known = std::min(report.gpus.size(), book.fleet().gpus.size());
  for (size_t i = 0; i < known; ++i) {
    GpuReport::Gpu& gpu = report.gpus[i];
    if (gpu.name.empty() || !gpu.present || gpu.name != book.fleet().gpus[i].name) continue;
    gpu.outside_pools = MemoryOutsidePools(book, static_cast<uint32_t>(i));
  }
}

}  // namespace penstock
