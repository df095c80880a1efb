// One pool inside the core: its growth forecast, its risk, and how good its forecasts were.
//
// Invariant: `growth` is the sum of the contributions of the members that joined and did not leave. Owned by
// FleetState. Join, Update and Leave cost O(horizons).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_

#include <algorithm>
#include <array>
#include <vector>

#include "kvmodel/growth_forecast.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/view.h"
#include "router/core/learning/calibration.h"
#include "router/core/learning/risk_control.h"

namespace penstock {

// Horizons at which a pool's forecast is checked against the memory that is held then.
inline constexpr std::array<Duration, kForecastChecks> kForecastCheck = {Duration::Seconds(1), Duration::Seconds(10),
                                                                         Duration::Seconds(60)};

// A running request's part.
struct LendingPart {
  Amount lendable{0};  // The memory that it holds, if it may be parked now.
  Amount needed{0};    // The memory that it holds, times the part of the time for which it needs it.
  bool operator==(const LendingPart&) const = default;
};

// A parked stream's part of one pool.
struct Loan {
  PoolId pool;
  Amount lent{0};    // The memory that it held.
  Amount needed{0};  // As for a running request.
  bool operator==(const Loan&) const = default;
};

// The memory that a pool's running streams could lend, that parked streams have lent, and that all of them need in the
// long run. A parked stream has left its engine because it is far ahead of its due times. Its memory serves others
// until its next token is nearly due. So a stream needs its memory only for a part of the time. Invariant: the sums are
// those of the members and the loans. Owned by PoolState. Every operation is O(1).
class PoolLending {
 public:
  // A pool that counts on its lendable memory holds at most this part of the available memory at present.
  static constexpr double kFill = 0.95;
  // Once memory is lent, the streams need at most this part of the available memory in the long run. The rest is for
  // contexts that are computed again: with all of it, pools thrash at twice the load carried.
  static constexpr double kMostNeeded = 0.9;

  void Join(const LendingPart& part) { Change(part, 1); }
  void Leave(const LendingPart& part) { Change(part, -1); }
  void Replace(LendingPart& part, const LendingPart& by) {
    Change(part, -1);
    part = by;
    Change(part, 1);
  }
  void Lend(const Loan& loan) {
    lent_ += loan.lent;
    needed_ += loan.needed;
  }
  void End(const Loan& loan) {
    lent_ -= loan.lent;
    needed_ -= loan.needed;
  }

  Amount lendable() const { return lendable_; }
  Amount lent() const { return lent_; }
  Amount needed() const { return needed_; }
  bool operator==(const PoolLending&) const = default;

 private:
  void Change(const LendingPart& part, int64_t sign) {
    lendable_ += part.lendable * sign;
    needed_ += part.needed * sign;
  }

  Amount lendable_{0};
  Amount lent_{0};
  Amount needed_{0};
};

// The memory of the members whose class is evictable, and its ceiling after an eviction. Memory that was taken from
// them is not theirs again before `until`. Owned by PoolState. Every operation is O(1).
class YieldingMemory {
 public:
  void Change(double by) { held_ += by; }
  void Evicted(Instant until) {
    ceiling_ = held_;
    until_ = std::max(until_, until);
  }
  bool HasRoomFor(double more, Instant now) const { return now >= until_ || held_ + more <= ceiling_; }
  double held() const { return held_; }

 private:
  double held_ = 0;
  double ceiling_ = 0;
  Instant until_;
};

// The contribution with which a pool counts a running request; stored by the request.
struct Membership {
  GrowthVector contribution;
  Instant made;        // When the contribution was true.
  uint64_t epoch = 0;  // The pool's count of forecast checks when the request joined.
  LendingPart lending;
  bool yields = false;  // Its class is evictable.
};

class PoolState {
 public:
  // Takes a new specification. A pool that became fatal, or ceased to be, begins its risk anew.
  void Configure(const PoolSpec& spec);

  const PoolSpec& spec() const { return spec_; }
  // An engine or a neighbour in elastic memory leaves it another capacity than the fleet says.
  void Resize(Amount capacity) { spec_.capacity = capacity; }
  const PoolGrowth& growth() const { return growth_; }
  RiskControl& risk() { return risk_; }
  const RiskControl& risk() const { return risk_; }
  PoolLending& lending() { return lending_; }
  const PoolLending& lending() const { return lending_; }
  YieldingMemory& yielding() { return yielding_; }
  const YieldingMemory& yielding() const { return yielding_; }
  // The replicas that take memory from the pool.
  std::vector<ReplicaId>& replicas() { return replicas_; }
  const std::vector<ReplicaId>& replicas() const { return replicas_; }
  // The newest comparison at the horizon, for views.
  const PoolView::ForecastError& ErrorAt(size_t horizon) const { return samples_[horizon].last; }
  // The standard deviation of the mean so far ahead, with what earlier forecasts missed.
  double SigmaAt(double seconds, Instant now) const;

  PoolView::Cohort CohortAt(Instant now) const;

  void Join(Membership& member, const GrowthVector& contribution, bool yields, Instant now) {
    // It needs its memory all the time until it is seen to be ahead.
    member = {contribution, now, epoch_, {Amount(0), Amount(static_cast<int64_t>(contribution.mean[0]))}, yields};
    if (yields) yielding_.Change(contribution.mean[0]);
    growth_.Add(contribution, now);
    lending_.Join(member.lending);
  }
  void Update(Membership& member, const GrowthVector& contribution, Instant now) {
    growth_.Replace(member.contribution, member.made, contribution, now);
    // In floats the difference of a large member would lose its last digits.
    const double change = double{contribution.mean[0]} - double{member.contribution.mean[0]};
    if (member.yields) yielding_.Change(change);
    Count(change, member.epoch);
    member.contribution = contribution;
    member.made = now;
  }
  // True: the member was so large that the forecast is to be recounted (PoolGrowth::Remove).
  bool Leave(const Membership& member) {
    const bool hides = growth_.Remove(member.contribution, member.made);
    if (member.yields) yielding_.Change(-member.contribution.mean[0]);
    lending_.Leave(member.lending);
    Count(-member.contribution.mean[0], member.epoch);
    return hides;
  }
  // The forecast becomes the sum of these, which are all members. O(members).
  void Recount(const std::vector<const Membership*>& members) {
    growth_.BeginAnew();
    for (const Membership* member : members) growth_.Add(member->contribution, member->made);
  }
  // The memory that members share changes. It goes from or to a member that joined at epoch `joined`.
  void AddShared(double change, uint64_t joined) {
    growth_.AddShared(change);
    Count(change, joined);
  }
  // Compares the forecasts that are due and makes new ones. O(kForecastChecks).
  void CheckForecast(Instant now);

 private:
  // One forecast of the mean. When it is due, it is compared with the memory of its members: those that joined up to
  // `epoch`.
  struct Sample {
    bool open = false;
    Instant due;
    double mean = 0;
    double lengths = 0;  // Standard deviation for a pace that is known.
    double claimed = 0;  // Standard deviation before its calibration.
    double held = 0;     // Memory of those members, up to date.
    uint64_t epoch = 0;
    PoolView::ForecastError last;
  };

  double ClaimedSigmaAt(double seconds, Instant now) const;
  // The members' share of the growth of all since their contributions were made.
  double HeldOf(const Sample& sample, Instant now) const {
    return growth_.Sum() > 0 ? sample.held * growth_.Present(now) / growth_.Sum() : 0;
  }
  void Count(double change, uint64_t joined) {
    for (Sample& sample : samples_) sample.held += joined <= sample.epoch ? change : 0;
  }

  PoolSpec spec_;
  PoolGrowth growth_;
  RiskControl risk_;
  PoolLending lending_;
  YieldingMemory yielding_;
  std::vector<ReplicaId> replicas_;
  std::array<Sample, kForecastChecks> samples_;
  std::array<Calibration, kForecastChecks> calibrations_;
  uint64_t epoch_ = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_POOL_STATE_H_
