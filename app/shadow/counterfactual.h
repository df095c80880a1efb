// Estimates the worth of the shadow: the requests that really came, on two simulated copies of the fleet.
//
// One copy has the policy in charge, the other one the shadow. Both get the arrivals of reality, with the prompts that
// the engines counted and the lengths of the real answers. A request enters once its end is known, so the copies are
// behind the present by the longest answer that runs. The first copy tells how far the model is from reality; the
// difference between the copies is the estimate. A request that was refused, failed, or still runs after kPatience has
// a length that nobody knows: it is drawn from those of its model. A request whose client left runs, and is not
// compared; nor is one of several sequences. One that the engine refused never enters.
//
// The copies start empty. They start again when the fleet changes, when its learned speeds moved, and after
// kMostRequests or kLongest. The sums then leave out kWarmUp. After kIdle without a request the copies are dropped.
// Reality is as empty as they are when the next request comes, so that start needs no warm-up. A restart for moved
// speeds discards what was summed since the last start. Pure: time comes from the events. One owner. Memory is bounded
// by kMostRequests, kLongest and kMostPending.
#ifndef PENSTOCK_APP_SHADOW_COUNTERFACTUAL_H_
#define PENSTOCK_APP_SHADOW_COUNTERFACTUAL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "app/shadow/known_lengths.h"
#include "app/shadow/twin_run.h"
#include "router/shadow/shadow_report.h"
#include "router/shadow/tracked_request.h"

namespace penstock {

class Counterfactual {
 public:
  static constexpr Duration kPatience = Duration::Seconds(300);
  static constexpr size_t kMostRequests = 20'000;
  static constexpr Duration kLongest = Duration::Seconds(3600);
  static constexpr Duration kWarmUp = Duration::Seconds(30);
  static constexpr Duration kIdle = Duration::Seconds(120);
  // Requests that wait for their end or for the copies. Beyond that all of them are given up.
  static constexpr size_t kMostPending = 100'000;
  // Between two looks at the learned speeds.
  static constexpr Duration kReview = Duration::Seconds(60);
  static constexpr double kDrift = 1.25;

  // Makes a new core: that of the shadow, or that in charge.
  using CoreMaker = std::function<std::unique_ptr<AdmissionCore>(bool shadow)>;
  // The view of a core that learns; may be empty.
  using Learned = std::function<CoreView()>;

  Counterfactual(CoreMaker make, Learned learned, uint64_t seed);

  void SetFleet(const Fleet& fleet);
  void SetHealth(ReplicaId replica, Health health, Instant now);
  void Arrived(const RequestArrived& request, Instant now);
  // A request ended in reality; DecisionShadow::EndHook describes the arguments.
  void Ended(const TrackedRequest& tracked, const RequestClosed* closed, const Service& service, Instant now);
  // Gives up the copies and all requests. The next request starts both again.
  void Restart();

  // Advances the copies as far as reality is known at `now`, while `may_go_on`. True: something is left to do.
  bool Advance(Instant now, const std::function<bool()>& may_go_on);
  void Show(CounterfactualReport& report, Instant now) const;

 private:
  // An arrival, or a change of a replica's health.
  struct Pending {
    Instant at;
    RequestId id;
    bench::SimulatedArrival arrival;
    bool known = false;
    bool compared = true;
    bool entered = true;  // False: it never ran.
    bool refused = false;
    Service real;
    std::optional<ReplicaId> changed;  // It is no arrival.
    Health health = Health::kUp;
  };
  // A request that runs on the copies.
  struct Compared {
    bool compared = true;
    bool refused = false;
    Service real;
    std::optional<TwinRun::Ended> decides;
    std::optional<TwinRun::Ended> shadow;
  };
  struct Copies {
    std::unique_ptr<TwinRun> decides;
    std::unique_ptr<TwinRun> shadow;
    Instant started;  // All are times of reality.
    Instant reached;
    Instant warm;  // From here on the sums count.
    Instant used;  // The newest time with a request.
    uint64_t offered = 0;
    size_t replicas = 0;
    CoreView learned;
    Instant reviewed;
    absl::flat_hash_map<uint64_t, Compared> requests;
    CounterfactualReport before;  // The sums at the start.
  };
  // The newest fleet.
  struct FleetState {
    std::optional<Fleet> fleet;
    std::vector<Health> heard;   // As of the newest event.
    std::vector<Health> health;  // As far as the copies are.
    bool start = false;          // The copies must start again.
    bool cut = false;            // Requests may run in reality at the next start.
  };

  void Complete(Pending& pending);
  void Push(Pending pending);
  // The copies end, and what runs on them is not compared.
  void Drop();
  void DropIdle();
  void Discard();
  bool Ready(const Pending& pending, Instant now) const;
  // Advances the copies to an instant of reality; false: it may not go on.
  bool RunTo(Instant until, const std::function<bool()>& may_go_on);
  void Start(Instant at);
  void Feed(const Pending& pending);
  void Collect();
  void Take(uint64_t request, const TwinRun::Ended& ended, bool shadow);
  Instant InCopy(Instant real) const { return Instant() + (real - copies_.started); }
  bool NeedsStart(Instant at);

  const CoreMaker make_;
  const Learned learned_;
  const uint64_t seed_;
  FleetState fleet_;
  Copies copies_;
  std::deque<Pending> pending_;                         // In order of time.
  absl::flat_hash_map<RequestId, uint64_t> positions_;  // Open requests by position, counted from the first ever.
  uint64_t first_position_ = 0;                         // That of pending_.front().
  KnownLengths lengths_;
  CounterfactualReport sums_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SHADOW_COUNTERFACTUAL_H_
