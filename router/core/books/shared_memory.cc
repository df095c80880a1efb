#include "router/core/books/shared_memory.h"

#include <algorithm>

namespace penstock {
namespace {

// The count of forecast checks from which the mover's memory counts in the pool.
uint64_t EpochIn(PoolId pool, const RequestState* mover) {
  if (mover == nullptr) return 0;
  const auto in =
      std::find_if(mover->pools.begin(), mover->pools.end(), [&](const auto& each) { return each.pool == pool; });
  return in == mover->pools.end() ? 0 : in->member.epoch;
}

bool SamePools(const Holdings& a, const Holdings& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Holding& x, const Holding& y) { return x.pool == y.pool; });
}

}  // namespace

Amount SharedPart(const Footprint& footprint, Tokens tokens, const PoolState& pool) {
  if (pool.spec().overflow_fatal) return Amount(0);
  return Amount(static_cast<int64_t>(footprint.Shared(tokens.AsDouble())));
}

void SharedMemory::Follow(const ReplicaState& replica, const RequestState* mover, FleetState& fleet) {
  const int64_t blocks = replica.spec().shares_prompts ? replica.prompts.live().shared_blocks() : 0;
  const Tokens tokens = kPrefixBlock * blocks;
  if (tokens == Tokens(0) && !lease_) return;
  Holdings holdings;
  if (tokens > Tokens(0)) {
    for (const PoolShare& share : replica.spec().pools) {
      const Amount amount = SharedPart(share.footprint, tokens, fleet.pool(share.pool));
      holdings.push_back({share.pool, amount, amount});
    }
  }
  for (const Holding& before : holdings_) {
    fleet.pool(before.pool).AddShared(-before.held.AsDouble(), EpochIn(before.pool, mover));
  }
  for (const Holding& after : holdings) {
    fleet.pool(after.pool).AddShared(after.held.AsDouble(), EpochIn(after.pool, mover));
  }
  MemoryLedger& ledger = fleet.ledger();
  if (lease_ && !holdings.empty() && SamePools(holdings, holdings_)) {
    ledger.Update(*lease_, holdings);
  } else {
    if (lease_) ledger.Release(*lease_);
    lease_.reset();
    if (!holdings.empty()) lease_ = ledger.Open(holdings);
  }
  holdings_ = std::move(holdings);
}

}  // namespace penstock
