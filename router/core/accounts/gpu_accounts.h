// The accounts of the GPUs' time: every GPU-second has a state, and the states of a GPU add up to wall time.
//
//   productive   a request runs there whose next token is not overdue
//   full         the same, while a request for a model that it serves waits for memory
//   slow         a request runs there whose next token is overdue
//   for_nobody   the engine may still work for a request whose client left, or that the router took back
//   blocked      nothing runs although a request for a model that it serves waits for memory
//   waiting      nothing runs although requests for a model that it serves wait, all for other reasons
//   elsewhere    nothing runs, and only requests for other models wait
//   idle         nothing runs, and no request waits
//   asleep       nothing runs, and none of its replicas is awake
//   down         none of its replicas answers
//
// Requests that run on one GPU divide its time evenly, whichever replica they are on. So two overdue requests of three
// make a second two thirds slow. A replica that is down or asleep runs nothing. Where nothing runs, the order is
// down, blocked, waiting, asleep, elsewhere, idle. A GPU without replicas is not in the fleet, and its time does not
// count. Pure. One owner; time goes back by microseconds at most. A change costs O(replicas of the GPU). GPUs with the
// same models share a clock of the demand, which is read when one of them is settled. So a change of the demand costs
// O(sets of models that have the model), however many GPUs rest.
#ifndef PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_ACCOUNTS_H_
#define PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_ACCOUNTS_H_

#include <algorithm>
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

// Sums the time during which something holds. Exact.
class DemandClock {
 public:
  void Set(bool runs, Instant now) {
    sum_ = At(now);
    since_ = std::max(since_, now);
    runs_ = runs;
  }
  Duration At(Instant now) const { return runs_ && now > since_ ? sum_ + (now - since_) : sum_; }

 private:
  Duration sum_;
  Instant since_;
  bool runs_ = false;
};

class GpuAccounts {
 public:
  // Time after `end` is not counted.
  explicit GpuAccounts(Instant end = Instant::Never()) : end_(end) {}

  // The fleet as it is from now on. Positions keep their meaning, so the lists only grow.
  void Place(const std::vector<ReplicaPlace>& replicas, size_t models, Instant now);
  // Nobody has the place any more. Its time counts as that of GPUs that are gone.
  void Vacate(size_t gpu, Instant now);
  // One hour of the GPU costs so much from now on.
  void SetPrice(size_t gpu, double price, Instant now);

  void SetWork(size_t replica, const ReplicaWork& work, Instant now);
  void SetAsleep(size_t replica, bool asleep, Instant now);
  void SetDown(size_t replica, bool down, Instant now);
  // `change` more requests wait in the router for a model.
  void ChangeWaiting(ModelId model, int change, Instant now);
  // The models whose first waiting request waits for memory, in rising order. O(models that were or are listed).
  void SetMemoryWaits(const std::vector<ModelId>& models, Instant now);
  // Counts the time up to `now`. Before a look at the seconds.
  void SettleAll(Instant now) { SettleSome(0, gpus_.size(), now); }
  // The same for `count` GPUs from `first` on, as far as there are any.
  void SettleSome(size_t first, size_t count, Instant now);

  const GpuTime& time(size_t gpu) const { return gpus_[gpu].time; }
  double price(size_t gpu) const { return gpus_[gpu].price; }
  size_t gpus() const { return gpus_.size(); }
  // The time of all GPUs whose places were given up.
  const GpuTime& gone() const { return gone_; }

 private:
  struct Replica {
    ReplicaPlace place;
    ReplicaWork work;
    bool asleep = false;
    bool down = false;
  };
  enum class Mode : uint8_t { kLeft, kWorks, kDown, kAsleep, kRests };
  struct Gpu {
    std::vector<size_t> replicas;
    size_t kind = 0;  // The position of its set of models in kinds_.
    GpuTime time;
    double price = 0;
    Instant since;
    Mode mode = Mode::kLeft;
    // Shares of the time from `since` on while it works.
    double slow = 0;
    double for_nobody = 0;
    // The clocks as of `since`.
    Duration memory;
    Duration wanted;
    Duration any_wait;
  };
  // A set of models that GPUs have in common.
  struct Kind {
    int64_t wanted = 0;    // Its models that somebody waits for.
    int64_t memory = 0;    // Those of them whose first request waits for memory.
    DemandClock demand;    // Runs while there is one that somebody waits for.
    DemandClock shortage;  // Runs while there is one that waits for memory.
  };

  void FindKinds(Instant now);
  void SetMemoryWait(ModelId model, bool waits, Instant now);
  void Settle(Gpu& gpu, Instant now);
  void Count(Gpu& gpu, Duration passed, Instant until) const;
  void SettleOf(size_t replica, Instant now);
  void Divide(Gpu& gpu) const;

  Instant end_;
  std::vector<Replica> replicas_;
  std::vector<Gpu> gpus_;
  GpuTime gone_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<size_t>> kinds_of_;  // One list per model.
  std::vector<int64_t> waiting_;               // Requests by model.
  std::vector<ModelId> memory_waits_;          // As they were set.
  std::vector<bool> waits_for_memory_;         // One entry per model; true only where requests wait.
  int64_t all_waiting_ = 0;
  DemandClock any_wait_;  // Runs while a request waits.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_ACCOUNTS_H_
