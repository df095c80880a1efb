#include "router/core/residency/gpu_memory.h"

#include <algorithm>

namespace penstock {
namespace {

// Its engine may hold its memory, and nobody knows until when.
bool Holds(const ReplicaState& replica, Instant now) {
  const Presence& presence = replica.presence;
  if (presence.holds) return true;
  const bool lost = presence.awake() && replica.health == Health::kDown && replica.spec().sleep;
  return lost && presence.down_since != Instant() && !IsAwaited(presence.down_since, now);
}

}  // namespace

void GpuMemory::Configure() {
  const Fleet& fleet = fleet_.spec();
  replicas_.assign(fleet.gpus.size(), {});
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const ReplicaSpec& replica = fleet.replicas[i];
    if (replica.removed || replica.resident <= Bytes(0)) continue;
    for (const uint32_t gpu : replica.gpus) {
      if (gpu >= replicas_.size()) replicas_.resize(gpu + 1);
      replicas_[gpu].push_back(i);
    }
  }
}

bool GpuMemory::TakesLater(const Presence& presence) {
  switch (presence.residency) {
    case Residency::kAwake:
      return !presence.leaving;
    case Residency::kWaking:
      return true;
    case Residency::kFallingAsleep:
      // Nobody knows when an overdue one gives its memory back.
      return presence.wanted || !presence.trusted;
    case Residency::kAsleep:
      return presence.wanted;
  }
  return true;
}

std::optional<Bytes> GpuMemory::Free(uint32_t gpu, Takes takes) const {
  const std::vector<GpuSpec>& gpus = fleet_.spec().gpus;
  if (gpu >= gpus.size() || gpus[gpu].memory <= Bytes(0)) return std::nullopt;
  Bytes free = gpus[gpu].memory;
  for (const size_t index : replicas_[gpu]) {
    const ReplicaState& replica = fleet_.replicas()[index];
    if (takes(replica.presence)) free -= replica.spec().resident;
  }
  return free;
}

bool GpuMemory::FitsLater(const ReplicaSpec& replica) const {
  return std::all_of(replica.gpus.begin(), replica.gpus.end(),
                     [&](uint32_t gpu) { return FreeLater(gpu).value_or(replica.resident) >= replica.resident; });
}

bool GpuMemory::FitsNow(const ReplicaSpec& replica) const {
  return std::all_of(replica.gpus.begin(), replica.gpus.end(), [&](uint32_t gpu) {
    const std::optional<Bytes> free = FreeNow(gpu);
    return !free || *free >= replica.resident;
  });
}

bool GpuMemory::Blocks(const ReplicaSpec& replica, Instant now) const {
  return std::any_of(replica.gpus.begin(), replica.gpus.end(), [&](uint32_t gpu) {
    bool any_holds = false;
    for (const size_t index : replicas_[gpu]) any_holds |= Holds(fleet_.replicas()[index], now);
    if (!any_holds) return false;
    // Every other one may leave at some time.
    const std::vector<GpuSpec>& gpus = fleet_.spec().gpus;
    if (gpu >= gpus.size() || gpus[gpu].memory <= Bytes(0)) return false;
    Bytes free = gpus[gpu].memory;
    for (const size_t index : replicas_[gpu]) {
      const ReplicaState& other = fleet_.replicas()[index];
      if (Holds(other, now) || !other.spec().sleep) free -= other.spec().resident;
    }
    return free < replica.resident;
  });
}

}  // namespace penstock
