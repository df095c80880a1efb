// The memory test: whether the pools of a replica can take a request now, and how full its fullest pool would become.
//
// The bound of every pool must stay within the rule's part of the available memory while the request is there. The
// price of memory is the bound over all horizons. A lone request may enter an empty pool whatever its forecast, or it
// would wait for ever. A prompt counts without the leading blocks that running
// requests of the replica hold. A pool that is reserved for a waiting request must hold both (reservations.h).
// Evictable classes keep below their ceiling (YieldingMemory).
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_MEMORY_TEST_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_MEMORY_TEST_H_

#include <memory>
#include <optional>
#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/books/forecasts.h"
#include "router/core/placement/reservations.h"

namespace penstock {

// The memory that a pool needs with one request more. Stateless.
class MemoryRule {
 public:
  virtual ~MemoryRule() = default;
  // The part of the available memory that the bound may fill.
  virtual double Fill() const = 0;
  // The bound in the pool's unit up to the horizon `until`, and the horizon where it is.
  virtual PoolPeak BoundWith(const PoolState& pool, const GrowthVector& joining, int until, Instant now) const = 0;
  // At most the bound over all horizons with any request, less the least of the request's means at the horizon and at
  // the present. It holds from now on until the pool changes. nullopt says nothing.
  virtual std::optional<PoolPeak> Floor(const PoolState&, Instant /*now*/) const { return std::nullopt; }
  // True: the bound at one horizon, where the request is there, is above `limit` already. False decides nothing. A few
  // dozen operations.
  virtual bool SurelyAbove(double /*limit*/, const PoolState&, int /*horizon*/, const GrowthMember&, Instant) const {
    return false;
  }
};

// Mean + z sigma of the growth forecast at its worst horizon, within 99 % of the available memory and what the pool's
// streams could lend. A pool that counts on lendable memory keeps its present amounts lower. Once memory is lent, the
// streams must not need more in the long run than the pool has (books/pool_state.h).
class ForecastRule : public MemoryRule {
 public:
  double Fill() const override;
  PoolPeak BoundWith(const PoolState& pool, const GrowthVector& joining, int until, Instant now) const override;
  std::optional<PoolPeak> Floor(const PoolState& pool, Instant now) const override;
  bool SurelyAbove(double limit, const PoolState& pool, int horizon, const GrowthMember& joining,
                   Instant now) const override;

 protected:
  // Standard deviations of growth that stay free.
  virtual double ZOf(const PoolState& pool) const { return pool.risk().z(); }
};

// Applies a rule to the pools of a replica. Owned by Rooms. Invariant: a hint about a pool never changes a verdict, it
// only finds it sooner. A test is O(pools x horizons).
class MemoryTest {
 public:
  MemoryTest(const FleetState& fleet, const Forecasts& forecasts, Reservations& reservations,
             std::unique_ptr<const MemoryRule> rule)
      : fleet_(fleet), forecasts_(forecasts), reservations_(reservations), rule_(std::move(rule)) {}

  const MemoryRule& rule() const { return *rule_; }
  // The fleet has a new description.
  void Configure() { hints_.resize(fleet_.pools().size()); }

  // The bound of the fullest pool with the request, over its capacity; nullopt where one pool has no room. Appends the
  // request's contribution to each pool to `growth` where there is room. Without pools: the part of the batch in use.
  std::optional<double> PeakShareWith(const RequestState& request, const ReplicaState& replica, Instant now,
                                      std::vector<GrowthVector>& growth);
  // The same bound, also where a pool has no room.
  double PeakShareAnyway(const RequestState& request, const ReplicaState& replica, Instant now,
                         std::vector<GrowthVector>& growth);
  // True: PeakShareWith would be above `share`, or would find no room. False decides nothing.
  bool SurelyAbove(double share, const RequestState& request, const ReplicaState& replica, Instant now) const;
  // The memory that one pool lacks for the request by the rule, in the pool's unit; below 0: it has room.
  double Missing(const RequestState& request, const ReplicaState& replica, const PoolShare& share, Instant now) const;
  // The expected time until all pools of the replica could hold the request if no other joined them. nullopt: not
  // within the horizons. O(pools x horizons^2).
  std::optional<Duration> TimeToRoom(const RequestState& request, const ReplicaState& replica, Instant now) const;

 private:
  // The last test of a pool. Where there was no room just now there mostly is none, and one horizon shows it.
  struct Hint {
    bool crowded = false;
    int worst = 0;
  };
  struct Verdict {
    bool fits = true;
    double peak_share = 0;
  };

  bool SurelyFull(const PoolShare& share, const GrowthMember& member, bool by_mean, Instant now) const;
  double LimitOf(PoolId pool) const;
  // The same for one pool, in seconds.
  std::optional<double> TimeToRoom(const RequestState& request, const ReplicaState& replica, const PoolShare& share,
                                   Instant now) const;
  // The rule's bound; a parked stream that is due back only asks for its present amount.
  PoolPeak BoundWith(const RequestState& request, const PoolState& pool, const GrowthVector& growth, int until,
                     Instant now) const;
  // The first horizon at which the waiting request has ended: behind its prefill, and behind LastHorizonOf.
  int UntilOf(const RequestState& request, const ReplicaState& replica, const GrowthVector& growth) const;
  Verdict TestPools(const RequestState& request, const ReplicaState& replica, const GrowthVector* growth, Instant now);
  // True: the pool holds the newcomer's growth beside the request that it is reserved for.
  bool FitsBesideReserved(const RequestState& request, PoolId pool, const GrowthVector& growth, int until, Instant now);

  const FleetState& fleet_;
  const Forecasts& forecasts_;
  Reservations& reservations_;
  const std::unique_ptr<const MemoryRule> rule_;
  std::vector<Hint> hints_;            // One entry per pool.
  std::vector<GrowthMember> members_;  // The memory of one test, reused by the next.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_MEMORY_TEST_H_
