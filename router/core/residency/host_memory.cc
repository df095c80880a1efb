#include "router/core/residency/host_memory.h"
#include "base/ids.h"

#include <algorithm>

namespace penstock {

void HostMemory::Configure() {
  const Fleet& fleet = fleet_.spec();
  hosts_.assign(fleet.hosts.size(), {});
  on_.assign(fleet.replicas.size(), {});
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const ReplicaSpec& replica = fleet.replicas[i];
    if (replica.removed || !replica.sleep || replica.sleep->weights <= Bytes(0)) continue;
    for (size_t host = 0; host < hosts_.size(); ++host) {
      const auto gpus = std::count_if(replica.gpus.begin(), replica.gpus.end(), [&](uint32_t gpu) {
        return gpu < fleet.gpus.size() && NodeOf(fleet.gpus[gpu].name) == fleet.hosts[host].name;
      });
      if (gpus == 0) continue;
      hosts_[host].push_back({i, replica.sleep->weights * gpus});
      on_[i].push_back(host);
    }
  }
}

bool HostMemory::Takes(size_t replica) const {
  const Presence& presence = fleet_.replicas()[replica].presence;
  return presence.host != HostHold::kNone || (presence.leaving && presence.level == SleepLevel::kHost);
}

Bytes HostMemory::Used(const Parts& parts, const std::vector<size_t>& more) const {
  Bytes used(0);
  for (const Part& part : parts) {
    const bool added = std::find(more.begin(), more.end(), part.replica) != more.end();
    if (added || Takes(part.replica)) used += part.weights;
  }
  return used;
}

int HostMemory::LackingOn(size_t host) const {
  return static_cast<int>(std::count_if(hosts_[host].begin(), hosts_[host].end(), [this](const Part& part) {
    return fleet_.replicas()[part.replica].presence.lacks_host;
  }));
}

std::optional<SleepLevel> HostMemory::LevelOf(size_t replica, const std::vector<size_t>& beside) const {
  if (on_[replica].empty()) return SleepLevel::kUnsaid;
  if (fleet_.replicas()[replica].presence.host == HostHold::kSure) return SleepLevel::kHost;
  std::vector<size_t> all = beside;
  all.push_back(replica);
  const bool fits = std::all_of(on_[replica].begin(), on_[replica].end(), [&](size_t host) {
    return Used(hosts_[host], all) <= fleet_.spec().hosts[host].sleep_memory;
  });
  if (fits) return SleepLevel::kHost;
  if (fleet_.spec().replicas[replica].sleep->may_drop) return SleepLevel::kDisk;
  return std::nullopt;
}

}  // namespace penstock
