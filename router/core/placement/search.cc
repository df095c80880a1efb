#include "router/core/placement/search.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// A few tries would find a poor choice: an event that can pay for less than this leaves the search to the next one.
constexpr double kLeastBudget = 24;
// The cost of a try, of a look at one horizon and of a bound in a large fleet, in tries of a small one. Its replicas
// are not in the caches of the processor (bench/results/decision-cost.md).
constexpr double kTry = 3;
constexpr double kLook = 1.0 / 2;
constexpr double kBound = 1.0 / 16;
// Where a replica was found, a try counts once: the search is nearly over.
constexpr double kFurtherTry = 1;

}  // namespace

Search::Search(const FleetState& fleet, const Servers& servers, const MemoryTest& memory, Floors& floors,
               WorkList& work, const std::vector<Guard>& guards, const SearchEffort& effort)
    : fleet_(fleet),
      servers_(servers),
      memory_(memory),
      floors_(floors),
      work_(work),
      effort_(effort),
      best_first_(servers, floors, std::any_of(guards.begin(), guards.end(), [](const Guard& guard) {
                    return guard.reason == WaitReason::kRunway;
                  })) {}

bool Search::Begin(RequestState* request, Tokens needed, Instant now) {
  request_ = request;
  now_ = now;
  price_.reset();
  by_bound_ = false;
  account_ = {0, effort_.first, false};
  next_ = 0;
  replicas_.clear();
  return servers_.Of(request->arrived.model).size() <= kSmallFleet ? BeginSmall() : BeginLarge(needed);
}

bool Search::BeginSmall() {
  if (request_->waiting.tries.everywhere) {
    AddOpened();
    return !replicas_.empty();
  }
  const std::vector<size_t>& servers = servers_.Of(request_->arrived.model);
  if (!work_.Spend(servers.size())) return false;
  request_->waiting.tries.everywhere = true;
  for (const size_t index : servers) {
    if (request_->MayUse(index)) replicas_.push_back(index);
  }
  return !replicas_.empty();
}

bool Search::BeginLarge(Tokens needed) {
  price_ = kMemoryPrice * floors_.PoolSeconds(*request_, now_);
  if (request_->waiting.tries.everywhere) {
    AddOpened();
    return !replicas_.empty();
  }
  if (static_cast<double>(work_.budget()) < kLeastBudget) return false;
  by_bound_ = true;
  ForgetOpened();
  best_first_.Begin(*request_, needed, *price_, now_);
  return true;
}

void Search::AddOpened() {
  const std::vector<size_t>& servers = servers_.Of(request_->arrived.model);
  for (const size_t index : work_.opened()) {
    const bool serves = std::binary_search(servers.begin(), servers.end(), index);
    if (serves && request_->MayUse(index)) replicas_.push_back(index);
  }
}

void Search::ForgetOpened() {
  const std::vector<size_t>& opened = work_.opened();
  std::erase_if(request_->waiting.tries.failed_on,
                [&](uint32_t index) { return std::find(opened.begin(), opened.end(), index) != opened.end(); });
}

bool Search::IsWorse(const BestFirst::Candidate& candidate, const Choice& best) const {
  const double cost = CostOf(best, *price_);
  return std::tie(candidate.cost, candidate.peak_share) > std::tie(cost, best.peak_share);
}

bool Search::LooksWorse(const BestFirst::Candidate& candidate, const Choice& best) const {
  const ReplicaState& replica = fleet_.replicas()[candidate.replica];
  const double saved = *price_ * candidate.peak_share - candidate.cost;
  if (*price_ <= 0 && saved > best.saved) return false;
  const double most = *price_ > 0 ? (CostOf(best, *price_) + saved) / *price_ : best.peak_share;
  return memory_.SurelyAbove(most, *request_, replica, now_);
}

bool Search::Pay(double tries, bool found) {
  if (found && !std::exchange(account_.found, true)) account_.left = effort_.rest;
  account_.left -= tries;
  if (account_.left < 0) return false;
  account_.unpaid += tries;
  for (; account_.unpaid >= 1; account_.unpaid -= 1) {
    if (!work_.Spend(1)) return false;
  }
  return true;
}

void Search::Interrupt() {
  std::vector<uint32_t>& failed_on = request_->waiting.tries.failed_on;
  for (const size_t replica : replicas_) failed_on.push_back(static_cast<uint32_t>(replica));
  std::sort(failed_on.begin(), failed_on.end());
}

std::optional<size_t> Search::NextByBound(const Choice* best) {
  while (const BestFirst::Candidate* candidate = best_first_.First(effort_.looks)) {
    if (best != nullptr && IsWorse(*candidate, *best)) return std::nullopt;
    const bool worse = best != nullptr && LooksWorse(*candidate, *best);
    const double looks = kBound * static_cast<double>(best_first_.TakeLooks());
    const bool paid = Pay(looks + (worse ? kLook : best != nullptr ? kFurtherTry : kTry), best != nullptr);
    // The first try is free where looks have cost all: so every event gets on, however large the fleet.
    if (!paid && !replicas_.empty()) {
      if (best == nullptr) Interrupt();
      return std::nullopt;
    }
    const size_t replica = candidate->replica;
    best_first_.Pop();
    if (worse) continue;
    replicas_.push_back(replica);
    return replica;
  }
  if (best == nullptr) {
    request_->waiting.tries.everywhere = true;
    request_->waiting.tries.failed_on.clear();
  }
  return std::nullopt;
}

std::optional<size_t> Search::Next(const Choice* best) {
  if (by_bound_) return NextByBound(best);
  if (next_ == replicas_.size()) return std::nullopt;
  return replicas_[next_++];
}

}  // namespace penstock
