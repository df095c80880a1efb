#include "router/core/placement/best_first.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "router/core/placement/hints.h"

namespace penstock {
namespace {

// A value that rounding could have made equal to a limit is not above it.
constexpr double kRounding = 1e-9;

// The standard heaps have the greatest first.
bool IsBehind(const BestFirst::Candidate& a, const BestFirst::Candidate& b) {
  return a.cost != b.cost ? a.cost > b.cost : a.Key() > b.Key();
}

}  // namespace

std::optional<WaitReason> BestFirst::SurelyBroken(const Floors::Entry& entry, double share, double saved) const {
  if (entry.closed) return entry.closed;
  if (now_ < entry.streams_until) return WaitReason::kRunningStreams;
  if (has_runway_guard_ && entry.runway * (1 - kRounding) > saved) return WaitReason::kRunway;
  const Floors::Floor& floor = newcomer_.FloorOf(entry);
  if (floor.horizon < 0) return std::nullopt;
  // The peak counts while the request is there. The present counts always.
  const bool stays = newcomer_.Stays(floor.horizon, entry.context);
  const bool full = stays ? share > floor.limit + kRounding : entry.present.share > entry.present.limit + kRounding;
  return full ? std::optional(WaitReason::kMemory) : std::nullopt;
}

bool BestFirst::StandsApart(size_t server) const { return IsHinted(*request_, server) || newcomer_.IsHolder(server); }

void BestFirst::BoundApart(ModelId model) {
  for (const Servers::Holder& holder : newcomer_.holders()) Bound(holder.server, holder.most);
  if (!request_->hint.replica) return;
  const size_t hinted = request_->hint.replica->value();
  const std::vector<size_t>& servers = servers_.Of(model);
  if (newcomer_.IsHolder(hinted)) return;
  if (std::binary_search(servers.begin(), servers.end(), hinted)) Bound(hinted, newcomer_.elsewhere());
}

bool BestFirst::Failed(size_t server) const {
  const std::vector<uint32_t>& failed_on = request_->waiting.tries.failed_on;
  return std::binary_search(failed_on.begin(), failed_on.end(), server);
}

bool BestFirst::Passes(size_t server, double share, double saved) {
  if (!request_->MayUse(server) || needed_ > servers_.Longest(server)) return false;
  const std::optional<WaitReason> broken = SurelyBroken(floors_.Of(server), share, saved);
  if (broken) closed_ = HigherRanked(closed_, *broken);
  return !broken;
}

void BestFirst::Bound(const FloorOrder::Member& member, double adds) {
  if (Failed(member.replica)) return;
  ++looks_;
  const double share = member.share + adds;
  candidates_.push_back({price_ * share - member.price.Of(elsewhere_), share, member.replica});
  std::push_heap(candidates_.begin(), candidates_.end(), IsBehind);
}

void BestFirst::Bound(size_t server, Tokens held) {
  if (Failed(server)) return;
  ++looks_;
  const Floors::Entry& entry = floors_.Of(server);
  const double share = newcomer_.FloorOf(entry).share + newcomer_.Adds(entry, held);
  double saved = entry.price.Of(PrefillOf(Tokens(0), held));
  if (IsHinted(*request_, server)) saved += entry.price.Of(PrefillOf(Tokens(0), HintedAtMost(*request_)));
  if (!Passes(server, share, saved)) return;
  candidates_.push_back({price_ * share - saved, share, server, true});
  std::push_heap(candidates_.begin(), candidates_.end(), IsBehind);
}

void BestFirst::AddHead(size_t index) {
  const Walk& walk = walks_[index];
  if (walk.next == walk.end) return;
  const double share = walk.next->share + walk.adds;
  if (share > walk.most_limit + kRounding) {
    closed_ = HigherRanked(closed_, WaitReason::kMemory);
    return;
  }
  heads_.push_back({{price_ * share - most_saved_, share, walk.next->replica}, index});
  std::push_heap(heads_.begin(), heads_.end(), [](const Head& a, const Head& b) { return IsBehind(a.bound, b.bound); });
}

void BestFirst::AddGroup(const FloorOrder::Kind& kind, const FloorOrder::Group& group) {
  if (has_runway_guard_ && kind.long_runway && group.least_runway * (1 - kRounding) > most_saved_) {
    closed_ = HigherRanked(closed_, WaitReason::kRunway);
    return;
  }
  const bool stays = newcomer_.Stays(kind.horizon, kind.context);
  const double most_limit = stays ? group.most_limit : std::numeric_limits<double>::infinity();
  walks_.push_back({newcomer_.AddsTo(kind), most_limit, group.members.begin(), group.members.end()});
  AddHead(walks_.size() - 1);
}

void BestFirst::Advance() {
  std::pop_heap(heads_.begin(), heads_.end(), [](const Head& a, const Head& b) { return IsBehind(a.bound, b.bound); });
  const size_t index = heads_.back().walk;
  heads_.pop_back();
  Walk& walk = walks_[index];
  if (!StandsApart(walk.next->replica)) Bound(*walk.next, walk.adds);
  ++walk.next;
  AddHead(index);
}

void BestFirst::Begin(const RequestState& request, Tokens needed, double price, Instant now) {
  request_ = &request;
  needed_ = needed;
  now_ = now;
  price_ = price;
  looks_ = 0;
  walks_.clear();
  heads_.clear();
  candidates_.clear();
  const ModelId model = request.arrived.model;
  const FloorOrder& order = floors_.OrderOf(model);
  closed_ = request.arrived.home ? WaitReason::kNoReplicaUp : order.closed();
  newcomer_.Begin(request, servers_, floors_, now);
  BoundApart(model);
  if (request.arrived.home || request.Returns()) {
    // One server, or an order of other floors: each is looked at.
    for (const size_t server : servers_.Of(model)) {
      if (!StandsApart(server)) Bound(server, newcomer_.elsewhere());
    }
    return;
  }
  elsewhere_ = PrefillOf(Tokens(0), newcomer_.elsewhere());
  most_saved_ = floors_.MostPrefillPrice(model, now).Of(elsewhere_);
  for (const auto& [kind, group] : order.groups()) AddGroup(kind, group);
}

const BestFirst::Candidate* BestFirst::First(size_t most) {
  const auto more = [&] { return looks_ < most && !IsBehind(heads_.front().bound, candidates_.front()); };
  for (;;) {
    while (!heads_.empty() && (candidates_.empty() || more())) Advance();
    if (candidates_.empty()) return nullptr;
    Candidate& first = candidates_.front();
    const Floors::Entry& entry = floors_.Of(first.replica);
    first.passed = first.passed || Passes(first.replica, first.peak_share, entry.price.Of(elsewhere_));
    if (first.passed) return &first;
    Pop();
  }
}

void BestFirst::Pop() {
  std::pop_heap(candidates_.begin(), candidates_.end(), IsBehind);
  candidates_.pop_back();
}

}  // namespace penstock
