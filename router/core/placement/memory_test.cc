#include "router/core/placement/memory_test.h"

#include <algorithm>

namespace penstock {
namespace {

// Room is looked for by the mean: with a margin, a pool of few large requests never seems to have room in time. The
// memory test has its margin once the time has come.
constexpr double kMeanOnly = 0;

// True: both can hold memory at the same time.
bool Overlap(const GrowthVector& a, const GrowthVector& b, int until) {
  for (int i = 0; i <= until; ++i) {
    if (a.mean[i] > 0 && b.mean[i] > 0) return true;
  }
  return false;
}

// True: the pool needs no margin for the request, which waited for reserved memory and has used its patience.
bool IsByMean(const RequestState& request, const PoolState& pool) {
  return request.waiting.reservation.by_mean && !pool.spec().overflow_fatal;
}

// Share of the available memory; the rest covers block rounding. Rules that fill less: bench/results/scenarios,
// present_use.
constexpr double kFill = 0.99;

}  // namespace

double ForecastRule::Fill() const { return kFill; }

PoolPeak ForecastRule::BoundWith(const PoolState& pool, const GrowthVector& joining, int until, Instant now) const {
  PoolPeak peak = pool.growth().PeakWith(joining, ZOf(pool), now, until);
  const PoolLending& lending = pool.lending();
  if (lending.lendable() == Amount(0) && lending.lent() == Amount(0)) return peak;
  const double present = (pool.growth().Present(now) + joining.mean[0]) * Fill() / PoolLending::kFill;
  const double needed = (lending.needed().AsDouble() + joining.mean[0]) * Fill() / PoolLending::kMostNeeded;
  const auto with_loans = [&](double bound) {
    // Where all that is lent could come back at once, the plain bound is enough.
    return std::min(bound + lending.lent().AsDouble(),
                    std::max({bound - lending.lendable().AsDouble(), present, needed}));
  };
  peak.bound = with_loans(peak.bound);
  peak.later = with_loans(peak.later);
  return peak;
}

std::optional<PoolPeak> ForecastRule::Floor(const PoolState& pool, Instant now) const {
  PoolPeak floor = pool.growth().Floor(std::min(ZOf(pool), pool.risk().least_z()), now);
  const double lendable = pool.lending().lendable().AsDouble();
  if (lendable == 0) return floor;
  // BoundWith with nothing lent: a loan may end while the pool stays as it is. A request adds to the present what it
  // has now, and less at the horizon of the peak. So the bound stands there, unless the present alone is as much.
  const double present = pool.growth().PresentFloor(now);
  floor.bound = std::min(floor.bound, std::max(floor.bound - lendable, present * Fill() / PoolLending::kFill));
  return floor.bound > present ? floor : PoolPeak{present, 0};
}

bool ForecastRule::SurelyAbove(double limit, const PoolState& pool, int horizon, const GrowthMember& joining,
                               Instant now) const {
  const PoolLending& lending = pool.lending();
  const double peak = pool.growth().BoundAt(horizon, joining, ZOf(pool), now);
  if (peak - lending.lendable().AsDouble() > limit) return true;
  // The other terms of BoundWith.
  if (peak + lending.lent().AsDouble() <= limit) return false;
  const double joins = PresentOf(joining);
  return (pool.growth().Present(now) + joins) * Fill() / PoolLending::kFill > limit ||
         (lending.needed().AsDouble() + joins) * Fill() / PoolLending::kMostNeeded > limit;
}

double MemoryTest::LimitOf(PoolId pool) const { return rule_->Fill() * fleet_.ledger().Available(pool).AsDouble(); }

int MemoryTest::UntilOf(const RequestState& request, const ReplicaState& replica, const GrowthVector& growth) const {
  // It ends before the next horizon.
  int until = std::min(LastHorizonOf(growth) + 1, kHorizons - 1);
  if (until == kHorizons - 1) return until;
  const PrefillWork work = replica.prefills().work() + request.PrefillAfter(request.waiting.cached);
  const double seconds = replica.steps_model().PriceOfPrefill(fleet_.BusyNeighbours(replica)).Of(work);
  while (until + 1 < kHorizons && HorizonSeconds()[until] < seconds) ++until;
  return until;
}

PoolPeak MemoryTest::BoundWith(const RequestState& request, const PoolState& pool, const GrowthVector& growth,
                               int until, Instant now) const {
  if (!request.Returns()) {
    PoolPeak peak = rule_->BoundWith(pool, growth, until, now);
    if (IsByMean(request, pool)) {
      const PoolPeak mean = pool.growth().PeakWith(growth, kMeanOnly, now, until);
      peak.bound = std::min(peak.bound, mean.bound);
      peak.later = std::min(peak.later, mean.later);
    }
    return peak;
  }
  const double present = pool.growth().Present(now) + growth.mean[0];
  return {present, 0, present};
}

bool MemoryTest::SurelyFull(const PoolShare& share, const GrowthMember& member, bool by_mean, Instant now) const {
  const Hint& hint = hints_[share.pool.value()];
  const PoolState& pool = fleet_.pool(share.pool);
  if (!hint.crowded || pool.growth().members() == 0 || by_mean) return false;
  return rule_->SurelyAbove(LimitOf(share.pool), pool, hint.worst, member, now);
}

bool MemoryTest::SurelyAbove(double share, const RequestState& request, const ReplicaState& replica,
                             Instant now) const {
  // Contributions are rounded to float: a share that rounding could have made equal is not surely above.
  constexpr double kRoundedUp = 1 + 1e-6;
  if (request.Returns()) return false;
  const DecodePace pace = forecasts_.PaceOf(replica);
  for (const PoolShare& each : replica.spec().pools) {
    const PoolState& pool = fleet_.pool(each.pool);
    const double capacity = std::max(1.0, pool.spec().capacity.AsDouble());
    const double taken = capacity - fleet_.ledger().Available(each.pool).AsDouble();
    const double limit = share * kRoundedUp * capacity - taken;
    const GrowthMember member = forecasts_.MemberOf(request, replica, each, pace, now);
    if (rule_->SurelyAbove(limit, pool, hints_[each.pool.value()].worst, member, now)) return true;
  }
  return false;
}

bool MemoryTest::FitsBesideReserved(const RequestState& request, PoolId pool, const GrowthVector& growth, int until,
                                    Instant now) {
  const GrowthVector* reserved = reservations_.Against(request, pool, now);
  if (reserved == nullptr || !Overlap(growth, *reserved, until)) return true;
  return rule_->BoundWith(fleet_.pool(pool), SumOf(growth, *reserved), until, now).bound <= LimitOf(pool);
}

double MemoryTest::Missing(const RequestState& request, const ReplicaState& replica, const PoolShare& share,
                           Instant now) const {
  const GrowthVector growth = reservations_.GrowthFrom(now, request, replica, share, now);
  return BoundWith(request, fleet_.pool(share.pool), growth, UntilOf(request, replica, growth), now).bound -
         LimitOf(share.pool);
}

std::optional<double> MemoryTest::TimeToRoom(const RequestState& request, const ReplicaState& replica,
                                             const PoolShare& share, Instant now) const {
  const PoolGrowth& pool = fleet_.pool(share.pool).growth();
  const double limit = LimitOf(share.pool);
  const double room = limit - reservations_.GrowthFrom(now, request, replica, share, now).mean[0];
  double before = 0;
  for (const double seconds : HorizonSeconds()) {
    const Instant at = now + Duration::Seconds(seconds);
    const GrowthVector growth = reservations_.GrowthFrom(at, request, replica, share, now);
    if (pool.PeakWith(growth, kMeanOnly, now).bound <= limit) {
      // Horizons are far apart: between two of them the mean falls in a straight line.
      const double full = pool.MeanAt(before, now) - room;
      const double free = room - pool.MeanAt(seconds, now);
      return full > 0 && free > 0 ? before + (seconds - before) * full / (full + free) : seconds;
    }
    before = seconds;
  }
  return std::nullopt;
}

std::optional<Duration> MemoryTest::TimeToRoom(const RequestState& request, const ReplicaState& replica,
                                               Instant now) const {
  double latest = 0;
  for (const PoolShare& share : replica.spec().pools) {
    const std::optional<double> here = TimeToRoom(request, replica, share, now);
    if (!here) return std::nullopt;
    latest = std::max(latest, *here);
  }
  return Duration::Seconds(latest);
}

MemoryTest::Verdict MemoryTest::TestPools(const RequestState& request, const ReplicaState& replica,
                                          const GrowthVector* growth, Instant now) {
  Verdict verdict;
  const std::vector<PoolShare>& shares = replica.spec().pools;
  for (size_t i = 0; i < shares.size(); ++i) {
    const PoolId id = shares[i].pool;
    const PoolState& pool = fleet_.pool(id);
    const double capacity = std::max(1.0, pool.spec().capacity.AsDouble());
    const double available = fleet_.ledger().Available(id).AsDouble();
    const int until = UntilOf(request, replica, growth[i]);
    const PoolPeak peak = BoundWith(request, pool, growth[i], until, now);
    hints_[id.value()].worst = peak.horizon;
    verdict.peak_share = std::max(verdict.peak_share, (peak.later + capacity - available) / capacity);
    const bool empty = pool.growth().members() == 0 && fleet_.ledger().balance(id).draining == Amount(0);
    // Below its prompt, the limit of an engine has to grow first.
    const bool lone = empty && (!pool.spec().limited || growth[i].mean[0] <= capacity);
    if (!lone && peak.bound > LimitOf(id)) verdict.fits = false;
    if (!lone && fleet_.GoalsOf(request).evictable && !request.service.guaranteed &&
        !pool.yielding().HasRoomFor(growth[i].mean[0], now)) {
      verdict.fits = false;
    }
    if (verdict.fits) verdict.fits = FitsBesideReserved(request, id, growth[i], until, now);
  }
  if (shares.empty()) {
    const double rows = std::max(1, replica.spec().max_sequences);
    verdict.peak_share = static_cast<double>(replica.sequences() + 1) / rows;
  }
  return verdict;
}

double MemoryTest::PeakShareAnyway(const RequestState& request, const ReplicaState& replica, Instant now,
                                   std::vector<GrowthVector>& growth) {
  const DecodePace pace = forecasts_.PaceOf(replica);
  members_.clear();
  for (const PoolShare& share : replica.spec().pools) {
    members_.push_back(forecasts_.MemberOf(request, replica, share, pace, now));
  }
  const size_t first = growth.size();
  AddContributions(members_, growth);
  return TestPools(request, replica, growth.data() + first, now).peak_share;
}

std::optional<double> MemoryTest::PeakShareWith(const RequestState& request, const ReplicaState& replica, Instant now,
                                                std::vector<GrowthVector>& growth) {
  const std::vector<PoolShare>& shares = replica.spec().pools;
  const DecodePace pace = forecasts_.PaceOf(replica);
  members_.clear();
  for (const PoolShare& share : shares) members_.push_back(forecasts_.MemberOf(request, replica, share, pace, now));
  for (size_t i = 0; i < shares.size(); ++i) {
    if (!request.Returns() && SurelyFull(shares[i], members_[i], request.waiting.reservation.by_mean, now))
      return std::nullopt;
  }
  const size_t first = growth.size();
  AddContributions(members_, growth);
  const Verdict verdict = TestPools(request, replica, growth.data() + first, now);
  for (const PoolShare& share : shares) hints_[share.pool.value()].crowded = !verdict.fits;
  if (verdict.fits) return verdict.peak_share;
  growth.resize(first);
  return std::nullopt;
}

}  // namespace penstock
