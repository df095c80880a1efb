// The engines that sleep and wake as the router orders: how long it takes, and the memory of their GPUs.
//
// A wake takes the configured time, up to a tenth more or less; falling asleep takes half of it. The wakes of a GPU
// follow one another, for they share its link to the host. A wake for which a GPU
// lacks memory fails at once. So does the sleep of an engine that has work. At the start every replica sleeps that
// may, at the level of its host as far as that has room. Invariant: the awake, waking and
// falling-asleep replicas of a GPU fit into its memory. Owned by SimulatedEngines. O(replicas of a GPU).
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_RESIDENCY_ORDERS_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_RESIDENCY_ORDERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/generator.h"
#include "bench/simulation/engines/event_queue.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "router/core/contract/event.h"

namespace penstock::bench {

class ResidencyOrders {
 public:
  // Falling asleep frees the cache and copies weights out, where the host has no copy of them.
  static constexpr double kSleepPart = 0.5;
  static constexpr double kNoise = 0.1;

  // Both outlive this object.
  ResidencyOrders(const SimulatedFleetSpec& spec, EventQueue& events);

  bool IsAwake(size_t replica) const { return replicas_[replica].residency == Residency::kAwake; }
  Residency residency(size_t replica) const { return replicas_[replica].residency; }
  // The level of its last sleep.
  SleepLevel level(size_t replica) const { return replicas_[replica].level; }
  // The engine begins to wake or to fall asleep; not `able`: it cannot. kOrderEnds follows.
  // `level`: of a sleep.
  void Begin(size_t replica, bool wake, bool able, SleepLevel level = SleepLevel::kUnsaid);
  // The order ends; nullopt where the serial number is outdated.
  std::optional<ReplicaResidency> End(size_t replica, uint64_t serial);

  int64_t wakes() const { return wakes_; }
  int64_t sleeps() const { return sleeps_; }
  int64_t failed() const { return failed_; }
  // Seconds asleep until now, of all replicas.
  double SecondsAsleep() const;

 private:
  struct Replica {
    Residency residency = Residency::kAwake;
    SleepLevel level = SleepLevel::kUnsaid;
    Instant since;  // This residency began then.
    Instant ordered_at;
    uint64_t serial = 0;  // The number of the newest order.
    bool fails = false;
    double asleep = 0;  // Seconds, the time since `since` left out.
  };

  bool Fits(size_t replica) const;
  // The levels at the start: in their order, the replicas take the memory of their hosts.
  void FillHosts();
  // The time until the links of its GPUs have done so much for it, behind the wakes before it.
  Duration UseLinks(size_t replica, Duration takes);
  void Become(size_t replica, Residency residency);

  const SimulatedFleetSpec& spec_;
  EventQueue& events_;
  std::vector<Replica> replicas_;
  std::vector<Instant> link_free_at_;  // By GPU, as far as wakes used it.
  Generator generator_{7};
  int64_t wakes_ = 0;
  int64_t sleeps_ = 0;
  int64_t failed_ = 0;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_RESIDENCY_ORDERS_H_
