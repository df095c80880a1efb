// Compares what was done with what the shadow would have done, and counts: by verdict, gain and outcome.
//
// A request is compared when it is really sent or refused, and counted with its outcome when it ends. Its last verdict
// gets the outcome. Pure; one owner. O(1) per call, and O(kRecent) for one that differs.
#ifndef PENSTOCK_ROUTER_SHADOW_SHADOW_TALLIES_H_
#define PENSTOCK_ROUTER_SHADOW_SHADOW_TALLIES_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "router/core/contract/fleet.h"
#include "router/shadow/service.h"
#include "router/shadow/shadow_report.h"
#include "router/shadow/tracked_request.h"

namespace penstock {

class ShadowTallies {
 public:
  // Decisions that are no further apart are one: an event may be a few messages later for one of the two.
  static constexpr Duration kTogether = Duration::Milliseconds(5);
  static constexpr size_t kRecent = 50;

  // `forecasts`: the shadow's expected times and memory are worth comparing.
  explicit ShadowTallies(bool forecasts) : forecasts_(forecasts) {}

  void SetFleet(const Fleet& fleet) { fleet_ = fleet; }
  const Fleet& fleet() const { return fleet_; }

  // The request was really sent; `place` of the tracked request is still that before. `waits`: why the shadow lets it
  // wait.
  static ShadowVerdict OfForward(const TrackedRequest& tracked, const Forward& forward, Instant now);
  static ShadowVerdict OfRefusal(const TrackedRequest& tracked);
  void Count(const TrackedRequest& tracked, Instant now, std::optional<WaitReason> waits);
  // A first token of a placement came.
  void CountFirst(const TrackedRequest& tracked, Instant now);
  void CountEnd(const TrackedRequest& tracked, const Service& service, bool refused);

  // Fills in the parts of the report that this object knows.
  void Show(ShadowReport& report) const;
  const VerdictTally& of(ShadowVerdict verdict) const { return tallies_[static_cast<size_t>(verdict)]; }

 private:
  void CountForecasts(const TrackedRequest& tracked, Instant now, VerdictTally& tally) const;
  void Remember(const TrackedRequest& tracked, Instant now, std::optional<WaitReason> waits);
  std::string ReplicaName(ReplicaId id) const;

  const bool forecasts_;
  Fleet fleet_;
  std::array<VerdictTally, kShadowVerdicts> tallies_;
  ForecastCheck forecast_;
  std::deque<ShadowDifference> recent_;  // Oldest first.
  uint64_t next_number_ = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SHADOW_SHADOW_TALLIES_H_
