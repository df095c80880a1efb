// The limits of the engines in the elastic memory of managed GPUs: when they move, and in which order.
//
// A review follows each report about such an engine. Where the pressures stay uneven for a while, a plan splits the
// memory anew (share_plan.h). Limits that fall are ordered first. One that rises is ordered once its memory is free:
// the lower limits were read back, and their engines hold no more. So the limits never exceed the memory by an order of
// this class. A limit that is not read back in time is counted, and its engine left alone for a while. An engine with
// old reports is left alone too. Both keep what they have. An engine without a report has an equal share. One that is
// gone or sleeps, and reports nothing, has no memory until it wakes (LendsElasticMemory). Owned by PenstockCore. A
// review is O(engines of the GPU).
#ifndef PENSTOCK_ROUTER_CORE_SHARES_SHARES_H_
#define PENSTOCK_ROUTER_CORE_SHARES_SHARES_H_

#include <map>
#include <optional>
#include <vector>

#include "router/core/books/forecasts.h"
#include "router/core/books/servers.h"
#include "router/core/contract/action.h"
#include "router/core/queue/waiting_room.h"
#include "router/core/shares/share_plan.h"

namespace penstock {

class Shares {
 public:
  // A gap in the pressures of engines is believed after this time: shorter than a burst, longer than a gap in arrivals.
  static constexpr Duration kPatience = Duration::Seconds(1);
  // The time from the end of one plan to the next.
  static constexpr Duration kInterval = Duration::Seconds(3);
  // A plan whose engines do not free the memory is dropped.
  static constexpr Duration kPlanTime = Duration::Seconds(20);
  // An engine whose limit was not read back is left alone; each further time doubles it, up to kLongestPause.
  static constexpr Duration kPause = Duration::Seconds(60);
  static constexpr Duration kLongestPause = Duration::Seconds(960);

  Shares(const FleetState& fleet, const Servers& servers, const WaitingRoom& waiting, const Forecasts& forecasts)
      : fleet_(fleet), servers_(servers), waiting_(waiting), forecasts_(forecasts) {}

  // The fleet has a new description.
  void Configure();
  // The core has the report in its books.
  void Told(const ElasticReport& report, Instant now, std::vector<Action>& actions);
  // Adds its part of a view, behind that of the fleet.
  void Show(CoreView& view) const;

 private:
  // An engine with a limit on one managed GPU, or the counts of one that had it.
  struct Engine {
    ReplicaId replica;
    PoolId pool;
    std::optional<Bytes> order;  // Not read back yet.
    Bytes before{0};             // The limit when it was ordered.
    Instant ordered_at;
    Instant paused_until;
    Duration pause = kPause;
    int64_t orders = 0;
    int64_t failed = 0;
  };
  struct ManagedGpu {
    Bytes memory{0};
    std::vector<size_t> engines;  // Positions in engines_.
    std::optional<Instant> uneven_since;
    std::vector<Bytes> plan;  // The limits that the engines are to get; empty: no plan is under way.
    Instant plan_since;       // The plan began or ended then.
  };

  // False: it has no limit on a managed GPU.
  bool AddEngine(ReplicaId replica, const Engine* before);
  // An engine that is not managed any more: its counts never fall.
  void KeepCounts(const Engine& before);
  void Review(ManagedGpu& gpu, Instant now, std::vector<Action>& actions);
  void Settle(Engine& engine, Instant now);
  void MakePlan(ManagedGpu& gpu, Instant now);
  void CarryOut(ManagedGpu& gpu, Instant now, std::vector<Action>& actions);
  void Order(Engine& engine, Bytes limit, Instant now, std::vector<Action>& actions);
  ShareClaim ClaimOf(const Engine& engine, Instant now) const;
  // Bytes that the requests which wait for the replica's models would fill, its part of them.
  double WaitingFor(const ReplicaState& replica, const Footprint& footprint, Instant now) const;
  // The engine may be moved: its reports are fresh, and it is not paused.
  bool Moves(const Engine& engine, Instant now) const;
  // The memory that the engine may take or has taken.
  Bytes Taken(const Engine& engine, Instant now) const;
  // The part of an engine of which nothing is known.
  Bytes EqualShare(const Engine& engine) const;
  const ReplicaState& StateOf(const Engine& engine) const { return fleet_.replica(engine.replica); }

  const FleetState& fleet_;
  const Servers& servers_;
  const WaitingRoom& waiting_;
  const Forecasts& forecasts_;
  std::vector<Engine> engines_;
  std::map<uint32_t, ManagedGpu> gpus_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_SHARES_SHARES_H_
