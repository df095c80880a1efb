#include "router/core/placement/memory_test.h"

#include <algorithm>

namespace penstock {
namespace {

// Share of the available memory; the rest covers block rounding. Rules that fill less: bench/results/scenarios,
// present_use.
constexpr double kFill = 0.99;

}  // namespace

double ForecastRule::Fill() const { return kFill; }

PoolPeak ForecastRule::BoundWith(const PoolState& pool, const GrowthVector& joining, Instant now) const {
  return pool.growth().PeakWith(joining, ZOf(pool), now);
}

bool ForecastRule::SurelyAbove(double limit, const PoolState& pool, int horizon, const GrowthMember& joining,
                               Instant now) const {
  return pool.growth().BoundAt(horizon, joining, ZOf(pool), now) > limit;
}

bool MemoryTest::SurelyFull(const PoolShare& share, const GrowthMember& member, Instant now) const {
  const Hint& hint = hints_[share.pool.value()];
  const PoolState& pool = fleet_.pool(share.pool);
  if (!hint.crowded || pool.growth().members() == 0) return false;
  const double limit = rule_->Fill() * fleet_.ledger().Available(share.pool).AsDouble();
  return rule_->SurelyAbove(limit, pool, hint.worst, member, now);
}

MemoryTest::Verdict MemoryTest::TestPools(const ReplicaState& replica, const GrowthVector* growth, Instant now) {
  Verdict verdict;
  const std::vector<PoolShare>& shares = replica.spec().pools;
  for (size_t i = 0; i < shares.size(); ++i) {
    const PoolId id = shares[i].pool;
    const PoolState& pool = fleet_.pool(id);
    const double capacity = std::max(1.0, pool.spec().capacity.AsDouble());
    const double available = fleet_.ledger().Available(id).AsDouble();
    const PoolPeak peak = rule_->BoundWith(pool, growth[i], now);
    hints_[id.value()].worst = peak.horizon;
    verdict.peak_share = std::max(verdict.peak_share, (peak.bound + capacity - available) / capacity);
    const bool lone = pool.growth().members() == 0 && fleet_.ledger().balance(id).draining == Amount(0);
    if (!lone && peak.bound > rule_->Fill() * available) verdict.fits = false;
  }
  if (shares.empty()) {
    const double rows = std::max(1, replica.spec().max_sequences);
    verdict.peak_share = static_cast<double>(replica.sequences() + 1) / rows;
  }
  return verdict;
}

std::optional<double> MemoryTest::PeakShareWith(const RequestState& request, const ReplicaState& replica, Instant now,
                                                std::vector<GrowthVector>& growth) {
  const std::vector<PoolShare>& shares = replica.spec().pools;
  const double pace = forecasts_.PaceOf(replica);
  members_.clear();
  for (const PoolShare& share : shares) members_.push_back(forecasts_.MemberOf(request, replica, share, pace, now));
  for (size_t i = 0; i < shares.size(); ++i) {
    if (SurelyFull(shares[i], members_[i], now)) return std::nullopt;
  }
  const size_t first = growth.size();
  AddContributions(members_, growth);
  const Verdict verdict = TestPools(replica, growth.data() + first, now);
  for (const PoolShare& share : shares) hints_[share.pool.value()].crowded = !verdict.fits;
  if (verdict.fits) return verdict.peak_share;
  growth.resize(first);
  return std::nullopt;
}

}  // namespace penstock
