#include "router/core/placement/search.h"

#include <algorithm>

#include "router/core/placement/hints.h"

namespace penstock {
namespace {

// Tries that an event must be able to pay for before a large fleet is searched: a few tries would find a poor choice.
constexpr size_t kLeastBudget = 16;
// The cost of a try, of a look at one horizon and of a bound in a large fleet, in tries of a small one. Its replicas
// are not in the caches of the processor (bench/results/decision-cost.md).
constexpr double kTry = 3;
constexpr double kLook = 1.0 / 2;
constexpr double kBound = 1.0 / 64;
// Where a replica was found, a try counts once: the search is nearly over.
constexpr double kFurtherTry = 1;
// A value that rounding could have made equal to a limit is not above it.
constexpr double kRounding = 1e-9;
// Bounds that are put in order at first; then four times as many, and so on.
constexpr size_t kSortedAtFirst = 16;

}  // namespace

Search::Search(const FleetState& fleet, const Servers& servers, const MemoryTest& memory, Floors& floors,
               WorkList& work, const std::vector<Guard>& guards)
    : fleet_(fleet), servers_(servers), memory_(memory), floors_(floors), work_(work) {
  has_runway_guard_ =
      std::any_of(guards.begin(), guards.end(), [](const Guard& guard) { return guard.reason == WaitReason::kRunway; });
}

bool Search::Begin(RequestState* request, Tokens needed, Instant now) {
  request_ = request;
  now_ = now;
  price_.reset();
  closed_ = WaitReason::kNoReplicaUp;
  by_bound_ = false;
  unpaid_ = 0;
  at_ = Position();
  candidates_.clear();
  return servers_.Of(request->arrived.model).size() <= kSmallFleet ? BeginSmall() : BeginLarge(needed);
}

bool Search::BeginSmall() {
  if (request_->waiting.tried_everywhere) {
    AddOpened();
    return !candidates_.empty();
  }
  const std::vector<size_t>& servers = servers_.Of(request_->arrived.model);
  if (!work_.Spend(servers.size())) return false;
  request_->waiting.tried_everywhere = true;
  for (const size_t index : servers) {
    if (request_->MayUse(index)) candidates_.push_back({0, 0, index});
  }
  return !candidates_.empty();
}

bool Search::BeginLarge(Tokens needed) {
  price_ = kMemoryPrice * floors_.PoolSeconds(*request_, now_);
  if (request_->waiting.tried_everywhere) {
    AddOpened();
    return !candidates_.empty();
  }
  if (work_.budget() < kLeastBudget) return false;
  by_bound_ = true;
  AddBounds(needed);
  return true;
}

void Search::AddOpened() {
  const std::vector<size_t>& servers = servers_.Of(request_->arrived.model);
  for (const size_t index : work_.opened()) {
    const bool serves = std::binary_search(servers.begin(), servers.end(), index);
    if (serves && request_->MayUse(index)) candidates_.push_back({0, 0, index});
  }
}

void Search::ForgetOpened() {
  const std::vector<size_t>& opened = work_.opened();
  std::erase_if(request_->waiting.failed_on,
                [&](uint32_t index) { return std::find(opened.begin(), opened.end(), index) != opened.end(); });
}

std::optional<WaitReason> Search::SurelyBroken(const Floors::Entry& entry, double share, double saved) const {
  if (entry.closed) return entry.closed;
  if (has_runway_guard_ && entry.runway * (1 - kRounding) > saved) return WaitReason::kRunway;
  if (share > newcomer_.FloorOf(entry).limit + kRounding) return WaitReason::kMemory;
  return std::nullopt;
}

void Search::AddBounds(Tokens needed) {
  ForgetOpened();
  newcomer_.Begin(*request_, servers_, floors_, now_);
  const std::vector<uint32_t>& failed_on = request_->waiting.failed_on;
  const std::vector<size_t>& servers = servers_.Of(request_->arrived.model);
  // All three lists are in rising order.
  auto failed = failed_on.begin();
  auto holder = newcomer_.holders().begin();
  const auto end = newcomer_.holders().end();
  for (const size_t index : servers) {
    if (!request_->MayUse(index)) continue;
    while (failed != failed_on.end() && *failed < index) ++failed;
    while (holder != end && *holder < index) ++holder;
    if (failed != failed_on.end() && *failed == index) continue;
    const Floors::Entry& entry = floors_.Of(index);
    const bool holds = holder != end && *holder == index;
    const double share = newcomer_.FloorOf(entry).share + newcomer_.Adds(entry, holds);
    double saved = entry.price.Of(newcomer_.Cached(holds));
    if (IsHinted(*request_, index)) saved += entry.price.Of(PrefillOf(Tokens(0), HintedAtMost(*request_)));
    if (needed > servers_.Longest(index)) continue;
    if (const std::optional<WaitReason> broken = SurelyBroken(entry, share, saved)) {
      closed_ = HigherRanked(closed_, *broken);
      continue;
    }
    candidates_.push_back({*price_ * share - saved, share, index});
  }
  Pay(kBound * static_cast<double>(servers.size()));
}

void Search::SortMore() {
  const size_t more = at_.sorted == 0 ? kSortedAtFirst : 4 * at_.sorted;
  const size_t end = std::min(candidates_.size(), at_.sorted + more);
  const auto at = [this](size_t i) { return candidates_.begin() + static_cast<std::ptrdiff_t>(i); };
  const auto first = [](const Candidate& a, const Candidate& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.Key() < b.Key();
  };
  if (end < candidates_.size()) std::nth_element(at(at_.sorted), at(end), candidates_.end(), first);
  std::sort(at(at_.sorted), at(end), first);
  at_.sorted = end;
}

bool Search::IsWorse(const Candidate& candidate, const Choice& best) const {
  const double cost = CostOf(best, *price_);
  return std::tie(candidate.cost, candidate.peak_share) > std::tie(cost, best.peak_share);
}

bool Search::LooksWorse(const Candidate& candidate, const Choice& best) const {
  const ReplicaState& replica = fleet_.replicas()[candidate.replica];
  const double saved = *price_ * candidate.peak_share - candidate.cost;
  if (*price_ <= 0 && saved > best.saved) return false;
  const double most = *price_ > 0 ? (CostOf(best, *price_) + saved) / *price_ : best.peak_share;
  return memory_.SurelyAbove(most, *request_, replica, now_);
}

bool Search::Pay(double tries) {
  unpaid_ += tries;
  for (; unpaid_ >= 1; unpaid_ -= 1) {
    if (!work_.Spend(1)) return false;
  }
  return true;
}

void Search::Interrupt(bool found) {
  if (found) return;
  std::vector<uint32_t>& failed_on = request_->waiting.failed_on;
  for (size_t i = 0; i < at_.next; ++i) failed_on.push_back(static_cast<uint32_t>(candidates_[i].replica));
  std::sort(failed_on.begin(), failed_on.end());
}

std::optional<size_t> Search::Next(const Choice* best) {
  for (; at_.next < candidates_.size(); ++at_.next) {
    if (!by_bound_) return candidates_[at_.next++].replica;
    if (at_.next == at_.sorted) SortMore();
    const Candidate& candidate = candidates_[at_.next];
    if (best != nullptr && IsWorse(candidate, *best)) return std::nullopt;
    const bool worse = best != nullptr && LooksWorse(candidate, *best);
    if (!Pay(worse ? kLook : best != nullptr ? kFurtherTry : kTry)) {
      Interrupt(best != nullptr);
      return std::nullopt;
    }
    if (!worse) return candidates_[at_.next++].replica;
  }
  if (by_bound_ && best == nullptr) {
    request_->waiting.tried_everywhere = true;
    request_->waiting.failed_on.clear();
  }
  return std::nullopt;
}

}  // namespace penstock
