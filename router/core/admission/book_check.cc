#include "router/core/admission/book_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Requests of a core whose books are recounted whole: some hundred nanoseconds each.
constexpr int64_t kMostRecounted = 64;
// Pools of a core whose books are recounted whole: some tens of nanoseconds each.
constexpr size_t kMostPools = 64;
// Blocks of prompts that the requests of a replica hold: fewer are recounted in some ten microseconds.
constexpr int64_t kMostUses = 256;
// Most disagreement of a pool's sums by rounding (growth_forecast.h).
constexpr double kRounding = 1e-6;

struct PoolSums {
  PoolGrowth growth;
  PoolLending lending;
  double yielding = 0;
  Amount held{0};
  Amount promised{0};
};

std::vector<RequestState*> AllWaiting(const WaitingRoom& room) {
  std::vector<RequestState*> all;
  std::vector<RequestState*> lane;
  for (uint32_t i = 0; i < room.lanes(); ++i) {
    room.lane(ModelId(i)).All(lane);
    all.insert(all.end(), lane.begin(), lane.end());
  }
  return all;
}

}  // namespace

std::string BookCheck::FirstPoolDrift() const {
  std::vector<PoolSums> sums(rooms_.fleet.pools().size());
  for (const ReplicaState& replica : rooms_.fleet.replicas()) {
    for (const RequestState* request : replica.requests()) {
      for (const PoolMembership& in : request->pools) {
        PoolSums& sum = sums[in.pool.value()];
        sum.growth.Add(in.member.contribution, in.member.made);
        sum.lending.Join(in.member.lending);
        if (request->running.evictable) sum.yielding += in.member.contribution.mean[0];
        sum.held += in.holding.held;
        sum.promised += in.holding.promised;
      }
    }
  }
  for (const SharedMemory& shared : rooms_.running.shared()) {
    for (const Holding& holding : shared.holdings()) {
      PoolSums& sum = sums[holding.pool.value()];
      sum.growth.AddShared(holding.held.AsDouble());
      sum.held += holding.held;
      sum.promised += holding.promised;
    }
  }
  for (const RequestState* request : AllWaiting(rooms_.waiting)) {
    for (const Loan& loan : request->loans) sums[loan.pool.value()].lending.Lend(loan);
  }
  const MemoryLedger& ledger = rooms_.fleet.ledger();
  if (const absl::Status recounted = ledger.Recount(); !recounted.ok()) return std::string(recounted.message());
  for (size_t i = 0; i < sums.size(); ++i) {
    const PoolId id(static_cast<uint32_t>(i));
    const PoolGrowth& growth = rooms_.fleet.pool(id).growth();
    const std::string name = absl::StrCat("pool ", rooms_.fleet.pool(id).spec().name);
    if (sums[i].growth.members() != growth.members()) return name + ": the forecast counts other members than run";
    const double capacity = rooms_.fleet.pool(id).spec().capacity.AsDouble();
    if (growth.shortfalls() > 0 || growth.Disagreement(sums[i].growth, capacity) > kRounding) {
      return name + ": the forecast is not the sum of its members";
    }
    if (sums[i].lending != rooms_.fleet.pool(id).lending()) return name + ": the loans are not those of its streams";
    const double yielding = rooms_.fleet.pool(id).yielding().held();
    if (std::abs(sums[i].yielding - yielding) > kRounding * std::max(1.0, capacity))
      return name + ": evictable classes hold other memory than counted";
    if (sums[i].held != ledger.balance(id).held) return name + ": the ledger holds other memory than the requests";
    if (sums[i].promised != ledger.balance(id).promised)
      return name + ": the ledger promised other memory than the requests";
  }
  return "";
}

std::string BookCheck::FirstRequestDrift() const {
  int64_t running = 0;
  int64_t unobserved = 0;
  int64_t evictable = 0;
  for (const ReplicaState& replica : rooms_.fleet.replicas()) {
    int64_t storage = 0;
    for (const RequestState* request : replica.requests()) {
      storage += StorageOf(request->running.storage);
      ++running;
      unobserved += request->arrived.observed ? 0 : 1;
      evictable += request->running.evictable ? 1 : 0;
      const bool open = request->Running() && rooms_.requests.Find(request->arrived.request) == request;
      if (!open) return absl::StrCat("replica ", replica.spec().name, ": a request that does not run is listed");
    }
    if (storage != rooms_.fleet.storage.WorkOf(rooms_.fleet.PositionOf(replica)))
      return absl::StrCat("replica ", replica.spec().name, ": its requests need other storage than counted");
  }
  // The others are aborting.
  if (running + rooms_.waiting.requests() > rooms_.requests.size()) return "more requests wait and run than are open";
  if (unobserved != rooms_.running.unobserved()) return "other requests than counted are forecast only";
  if (evictable != rooms_.running.evictable()) return "other running requests than counted may be evicted";
  return "";
}

std::string BookCheck::FirstBlockDrift(int64_t most_uses) const {
  for (const ReplicaState& replica : rooms_.fleet.replicas()) {
    if (replica.prompts.live().uses() > most_uses) continue;
    LiveBlocks recounted;
    for (const RequestState* request : replica.requests()) {
      if (!request->running.in_cache) continue;
      for (const uint64_t block : request->arrived.prefix) recounted.Add(block, request->arrived.request);
    }
    const std::vector<RequestState*>& requests = replica.requests();
    const bool agree = std::all_of(requests.begin(), requests.end(), [&](const RequestState* request) {
      return request->running.shared == replica.SharedOf(*request);
    });
    if (!agree || recounted != replica.prompts.live()) {
      return absl::StrCat("replica ", replica.spec().name, ": a block of a prompt has other users than run");
    }
  }
  return "";
}

std::string BookCheck::FirstDrift() const { return FirstDriftWith(std::numeric_limits<int64_t>::max()); }

std::string BookCheck::FirstDriftWith(int64_t most_uses) const {
  for (const ReplicaState& replica : rooms_.fleet.replicas()) {
    if (!replica.SumsHold()) return absl::StrCat("replica ", replica.spec().name, ": a sum over its requests is wrong");
  }
  if (!rooms_.waiting.SumsHold()) return "a sum over the waiting requests is wrong";
  if (!rooms_.early.SumsHold()) return "a waiting request is not counted by its size, or counted twice";
  if (!rooms_.reservations.SumsHold()) return "memory is reserved for a request that does not wait for it";
  if (!rooms_.placement.first_prefill.SumsHold(AllWaiting(rooms_.waiting)))
    return "a replica has other work ahead than requests wait for";
  if (std::string drift = FirstRequestDrift(); !drift.empty()) return drift;
  if (std::string drift = FirstPoolDrift(); !drift.empty()) return drift;
  return FirstBlockDrift(most_uses);
}

void BookCheck::AfterEvent() {
  if (++events_ % every_ != 0) return;
  if (rooms_.requests.size() <= kMostRecounted && rooms_.fleet.pools().size() <= kMostPools) {
    if (!FirstDriftWith(kMostUses).empty()) ++drifts_;
    return;
  }
  const std::vector<ReplicaState>& replicas = rooms_.fleet.replicas();
  if (next_replica_ >= replicas.size()) next_replica_ = 0;
  if (!replicas[next_replica_++].SumsHold()) ++drifts_;
}

}  // namespace penstock
