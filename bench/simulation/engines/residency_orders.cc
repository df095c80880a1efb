#include "bench/simulation/engines/residency_orders.h"

#include <algorithm>

#include "base/ids.h"

namespace penstock::bench {

ResidencyOrders::ResidencyOrders(const SimulatedFleetSpec& spec, EventQueue& events) : spec_(spec), events_(events) {
  replicas_.resize(spec.fleet.replicas.size());
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (spec.fleet.replicas[i].sleep) replicas_[i].residency = Residency::kAsleep;
  }
  FillHosts();
}

void ResidencyOrders::FillHosts() {
  for (const HostSpec& host : spec_.fleet.hosts) {
    Bytes left = host.sleep_memory;
    for (size_t i = 0; i < replicas_.size(); ++i) {
      const ReplicaSpec& replica = spec_.fleet.replicas[i];
      if (!replica.sleep) continue;
      const auto gpus = std::count_if(replica.gpus.begin(), replica.gpus.end(),
                                      [&](uint32_t gpu) { return NodeOf(spec_.fleet.gpus[gpu].name) == host.name; });
      const Bytes needed = replica.sleep->weights * gpus;
      if (needed <= Bytes(0)) continue;
      const bool drops = replica.sleep->may_drop && (needed > left || replicas_[i].level == SleepLevel::kDisk);
      replicas_[i].level = drops ? SleepLevel::kDisk : SleepLevel::kHost;
      if (!drops) left -= needed;
    }
  }
}

bool ResidencyOrders::Fits(size_t replica) const {
  const std::vector<GpuSpec>& gpus = spec_.fleet.gpus;
  const ReplicaSpec& own = spec_.fleet.replicas[replica];
  return std::all_of(own.gpus.begin(), own.gpus.end(), [&](uint32_t gpu) {
    if (gpu >= gpus.size() || gpus[gpu].memory <= Bytes(0)) return true;
    Bytes free = gpus[gpu].memory - own.resident;
    for (size_t i = 0; i < replicas_.size(); ++i) {
      const ReplicaSpec& other = spec_.fleet.replicas[i];
      const bool there = std::find(other.gpus.begin(), other.gpus.end(), gpu) != other.gpus.end();
      if (i != replica && there && replicas_[i].residency != Residency::kAsleep) free -= other.resident;
    }
    return free >= Bytes(0);
  });
}

Duration ResidencyOrders::UseLinks(size_t replica, Duration takes) {
  Instant end = events_.now() + takes;
  for (const int gpu : spec_.replicas[replica].gpus) {
    const auto position = static_cast<size_t>(gpu);
    if (position >= link_free_at_.size()) link_free_at_.resize(position + 1);
    end = std::max(end, link_free_at_[position] + takes);
  }
  for (const int gpu : spec_.replicas[replica].gpus) link_free_at_[static_cast<size_t>(gpu)] = end;
  return end - events_.now();
}

void ResidencyOrders::Become(size_t replica, Residency residency) {
  Replica& own = replicas_[replica];
  if (own.residency == Residency::kAsleep) own.asleep += (events_.now() - own.since).seconds();
  own.residency = residency;
  own.since = events_.now();
}

void ResidencyOrders::Begin(size_t replica, bool wake, bool able, SleepLevel level) {
  Replica& own = replicas_[replica];
  const bool right = own.residency == (wake ? Residency::kAsleep : Residency::kAwake);
  own.fails = !able || !right || (wake && !Fits(replica));
  own.ordered_at = events_.now();
  ++(wake ? wakes_ : sleeps_);
  Duration takes;
  if (!own.fails) {
    if (!wake) own.level = level;
    const SimulatedReplica& engine = spec_.replicas[replica];
    const Duration waking = own.level == SleepLevel::kDisk ? engine.wake_dropped : engine.wake;
    const double seconds = wake ? waking.seconds() : engine.wake.seconds() * kSleepPart;
    takes = Duration::Seconds(seconds * (1 + kNoise * (2 * generator_.Uniform() - 1)));
    if (wake) takes = UseLinks(replica, takes);
    Become(replica, wake ? Residency::kWaking : Residency::kFallingAsleep);
  }
  events_.Schedule(events_.now() + takes, Occurrence::kOrderEnds, replica, ++own.serial);
}

std::optional<ReplicaResidency> ResidencyOrders::End(size_t replica, uint64_t serial) {
  Replica& own = replicas_[replica];
  if (serial != own.serial) return std::nullopt;
  if (own.fails) ++failed_;
  if (!own.fails) Become(replica, own.residency == Residency::kWaking ? Residency::kAwake : Residency::kAsleep);
  return ReplicaResidency{ReplicaId(static_cast<uint32_t>(replica)), own.residency, own.fails,
                          events_.now() - own.ordered_at};
}

double ResidencyOrders::SecondsAsleep() const {
  double seconds = 0;
  for (const Replica& replica : replicas_) {
    seconds += replica.asleep;
    if (replica.residency == Residency::kAsleep) seconds += (events_.now() - replica.since).seconds();
  }
  return seconds;
}

}  // namespace penstock::bench
