#include "router/core/placement/best_first.h"

#include <algorithm>
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
  if (share > newcomer_.FloorOf(entry).limit + kRounding) return WaitReason::kMemory;
  return std::nullopt;
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

void BestFirst::Bound(size_t server, Tokens held) {
  const std::vector<uint32_t>& failed_on = request_->waiting.failed_on;
  if (std::binary_search(failed_on.begin(), failed_on.end(), server)) return;
  ++looks_;
  if (!request_->MayUse(server) || needed_ > servers_.Longest(server)) return;
  const Floors::Entry& entry = floors_.Of(server);
  const double share = newcomer_.FloorOf(entry).share + newcomer_.Adds(entry, held);
  double saved = entry.price.Of(PrefillOf(Tokens(0), held));
  if (IsHinted(*request_, server)) saved += entry.price.Of(PrefillOf(Tokens(0), HintedAtMost(*request_)));
  if (const std::optional<WaitReason> broken = SurelyBroken(entry, share, saved)) {
    closed_ = HigherRanked(closed_, *broken);
    return;
  }
  candidates_.push_back({price_ * share - saved, share, server});
  std::push_heap(candidates_.begin(), candidates_.end(), IsBehind);
}

void BestFirst::AddHead(Head head) {
  if (head.next == head.end) return;
  const double share = head.next->share + head.adds;
  if (share > head.most_limit + kRounding) {
    closed_ = HigherRanked(closed_, WaitReason::kMemory);
    return;
  }
  head.bound = {price_ * share - most_saved_, share, head.next->replica};
  heads_.push_back(head);
  std::push_heap(heads_.begin(), heads_.end(), [](const Head& a, const Head& b) { return IsBehind(a.bound, b.bound); });
}

void BestFirst::AddGroup(const FloorOrder::Kind& kind, const FloorOrder::Group& group) {
  if (has_runway_guard_ && kind.long_runway && group.least_runway * (1 - kRounding) > most_saved_) {
    closed_ = HigherRanked(closed_, WaitReason::kRunway);
    return;
  }
  Head head;
  head.adds = newcomer_.AddsTo(kind);
  head.most_limit = group.most_limit;
  head.next = group.members.begin();
  head.end = group.members.end();
  AddHead(head);
}

void BestFirst::Advance() {
  std::pop_heap(heads_.begin(), heads_.end(), [](const Head& a, const Head& b) { return IsBehind(a.bound, b.bound); });
  Head head = heads_.back();
  heads_.pop_back();
  const size_t server = head.next->replica;
  if (!StandsApart(server)) Bound(server, newcomer_.elsewhere());
  ++head.next;
  AddHead(head);
}

void BestFirst::Begin(const RequestState& request, Tokens needed, double price, Instant now) {
  request_ = &request;
  needed_ = needed;
  now_ = now;
  price_ = price;
  looks_ = 0;
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
  most_saved_ = floors_.MostPrefillPrice(model, now).Of(PrefillOf(Tokens(0), newcomer_.elsewhere()));
  for (const auto& [kind, group] : order.groups()) AddGroup(kind, group);
}

const BestFirst::Candidate* BestFirst::First(size_t most) {
  const auto more = [&] { return looks_ < most && !IsBehind(heads_.front().bound, candidates_.front()); };
  while (!heads_.empty() && (candidates_.empty() || more())) Advance();
  return candidates_.empty() ? nullptr : &candidates_.front();
}

void BestFirst::Pop() {
  std::pop_heap(candidates_.begin(), candidates_.end(), IsBehind);
  candidates_.pop_back();
}

}  // namespace penstock
