// The accounts of the GPUs' time: every GPU-second has a state, and the states of a GPU add up to wall time.
//
//   productive   a request runs there whose next token is not overdue
//   slow         a request runs there whose next token is overdue
//   for_nobody   the engine may still work for a request whose client left, or that the router took back
//   blocked      nothing runs although requests for a model that it serves wait
//   elsewhere    nothing runs, and only requests for other models wait
//   idle         nothing runs, and no request waits
//   asleep       nothing runs, and none of its replicas is awake
//   down         none of its replicas answers
//
// Requests that run on one GPU divide its time evenly, whichever replica they are on. So two overdue requests of three
// make a second two thirds slow. A replica that is down or asleep runs nothing. Where nothing runs, the order is
// down, blocked, asleep, elsewhere, idle. A GPU without replicas is not in the fleet, and its time does not count.
// Pure. One owner; time does not go back. A change costs O(replicas of the GPU), a change of the demand O(GPUs).
#ifndef PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_ACCOUNTS_H_
#define PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_ACCOUNTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "base/units.h"
#include "router/core/accounts/gpu_report.h"
#include "router/core/contract/fleet.h"

namespace penstock {

// The place of one replica.
struct ReplicaPlace {
  std::vector<uint32_t> gpus;
  std::vector<ModelId> models;
};
// The places of the replicas of a fleet; a removed replica is on no GPU.
std::vector<ReplicaPlace> PlacesOf(const Fleet& fleet);

// Requests on a replica.
struct ReplicaWork {
  int64_t on_time = 0;
  int64_t late = 0;
  int64_t for_nobody = 0;
  bool operator==(const ReplicaWork&) const = default;
};

class GpuAccounts {
 public:
  // Time after `end` is not counted.
  explicit GpuAccounts(Instant end = Instant::Never()) : end_(end) {}

  // The fleet as it is from now on. Positions keep their meaning, so the lists only grow.
  void Place(const std::vector<ReplicaPlace>& replicas, size_t models, Instant now);
  // One hour of the GPU costs so much from now on.
  void SetPrice(size_t gpu, double price, Instant now);

  void SetWork(size_t replica, const ReplicaWork& work, Instant now);
  void SetAsleep(size_t replica, bool asleep, Instant now);
  void SetDown(size_t replica, bool down, Instant now);
  // `change` more requests wait in the router for a model.
  void ChangeWaiting(ModelId model, int change, Instant now);
  // Counts the time up to `now`. Before a look at the seconds.
  void SettleAll(Instant now);

  const GpuTime& time(size_t gpu) const { return gpus_[gpu].time; }
  size_t gpus() const { return gpus_.size(); }

 private:
  struct Replica {
    ReplicaPlace place;
    ReplicaWork work;
    bool asleep = false;
    bool down = false;
  };
  struct Gpu {
    std::vector<size_t> replicas;
    GpuTime time;
    double price = 0;
    Instant since;
    std::array<double, kGpuStates> parts{};  // Shares of the time from `since` on; all 0: it has left.
    bool working = false;
  };

  void Settle(Gpu& gpu, Instant now);
  void SettleOf(size_t replica, Instant now);
  void Divide(Gpu& gpu) const;
  GpuState RestOf(const Gpu& gpu) const;

  Instant end_;
  std::vector<Replica> replicas_;
  std::vector<Gpu> gpus_;
  std::vector<int64_t> waiting_;  // Requests by model.
  int64_t all_waiting_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_ACCOUNTS_H_
