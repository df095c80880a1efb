// Finds replicas that answer but are slow or stand still, tells the cause, and lets them return slowly.
//
// A replica whose level (pace_watch.h) is far above that of its peers is derated at once. Its step model multiplies
// every step by the factor, so guards, forecasts and scores avoid it in proportion. Peers are replicas of the same
// model on equal hardware. Where all peers are as slow, the load or the model is the cause, and nobody is derated.
// Without a peer at work, only a level that is sure counts. A derated replica that does well loses half of its excess
// every kHalved. One that is idle gets one request after a pause, which doubles while such requests stay slow.
// A replica whose streams stand still while its peers go on is stalled. It takes nothing until its next step, or until
// its last stream has left. Its streams are the business of the health watch, which moves them
// (backends/health/hang_watch.h). Invariant: the listed replicas are those with a derate above 1 or a stall. Owned by
// PenstockCore. A step is O(1), of a suspect replica O(peers); Review is O(listed replicas x peers).
#ifndef PENSTOCK_ROUTER_CORE_GREY_GREY_WATCH_H_
#define PENSTOCK_ROUTER_CORE_GREY_GREY_WATCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/grey_cause.h"
#include "router/core/books/fleet_state.h"
#include "router/core/contract/view.h"
#include "router/core/queue/work_list.h"

namespace penstock {

class GreyWatch {
 public:
  // Over the level of its peers. A healthy replica stays below (bench/results/grey.md).
  static constexpr double kSlow = 1.5;
  // Without peers at work.
  static constexpr double kSlowAlone = 2;
  // Where the prior is a guess, the load moves the level.
  static constexpr double kSlowGuessed = 2.5;
  // Samples in a row.
  static constexpr int kConfirmed = 4;
  // Below, a derate ends.
  static constexpr double kWell = 1.1;
  static constexpr double kMost = 64;
  // Stalls are compared with nobody: clients that do not read look alike.
  static constexpr double kMostOfStalls = 8;
  static constexpr Duration kHalved = Duration::Seconds(3);
  static constexpr Duration kFirstPause = Duration::Seconds(2);
  static constexpr Duration kLongestPause = Duration::Seconds(60);
  // A derate that no step confirms for so long ends.
  static constexpr Duration kForgotten = Duration::Seconds(600);
  // A stall is this long at least, and so many times the step that is due.
  static constexpr double kStallSeconds = 1.2;
  static constexpr double kStallSteps = 12;

  // Both outlive this object. Not `on`: nothing is ever found.
  GreyWatch(FleetState& fleet, WorkList& work, bool on) : fleet_(fleet), work_(work), on_(on) {}

  // The fleet has a new description.
  void Configure();
  // Steps of the replica ended, and its books know.
  void Stepped(ReplicaState& replica, Instant now);
  // The health of the replica changed.
  void HealthChanged(ReplicaState& replica);
  // Looks at some replicas in turn: stalls begin, trials open.
  void Review(Instant now);
  // When a trial opens next; Never without one.
  Instant NextDue() const;

  // Adds its part of a view.
  void Show(CoreView& view) const;

 private:
  static constexpr uint32_t kNoNode = ~uint32_t{0};
  bool IsFresh(const ReplicaState& replica, Instant now) const;
  bool IsSlow(const ReplicaState& replica, Instant now) const;
  // The lower median of the peers' levels; nullopt: none was at work of late.
  std::optional<double> PeerLevel(const ReplicaState& replica, Instant now) const;
  bool Suspect(const ReplicaState& replica, double relative, bool compared) const;
  void Judge(ReplicaState& replica, Instant now);
  void Follow(ReplicaState& replica, double relative, Instant now);
  void Begin(ReplicaState& replica, double derate, GreyCause cause, Instant now);
  void Change(ReplicaState& replica, double derate);
  void End(ReplicaState& replica);
  void EndStall(ReplicaState& replica, Instant now);
  bool StandsStill(const ReplicaState& replica, Instant now) const;
  GreyCause CauseOf(const ReplicaState& replica, Instant now) const;
  // Derates whose cause is shared after all.
  void ReviseCauses(Instant now);
  void ReviewOne(ReplicaState& replica, Instant now);
  void List(const ReplicaState& replica);

  FleetState& fleet_;
  WorkList& work_;
  const bool on_;
  std::vector<uint32_t> kind_of_;           // One entry per replica: its position in kinds_.
  std::vector<std::vector<size_t>> kinds_;  // Replicas that are peers.
  std::vector<uint32_t> node_of_;           // One entry per GPU; kNoNode: not known.
  std::vector<size_t> listed_;              // Derated or stalled.
  size_t next_ = 0;                         // The replica that Review looks at next.
  mutable std::vector<double> levels_;      // Filled and emptied within one call.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_GREY_GREY_WATCH_H_
