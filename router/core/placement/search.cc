#include "router/core/placement/search.h"

#include <algorithm>

namespace penstock {
namespace {

// Replicas; a fleet of both together is searched whole. All replicas for every newcomer cost 260 us at 256 replicas
// (ARCHITECTURE.md, "One event costs the same in any fleet"; bench/results/decision-cost.md).
constexpr size_t kEmptiest = 16;
constexpr size_t kHolders = 8;  // Replicas that hold the request's prefix, besides.

}  // namespace

bool Search::TriedEverywhere(const RequestState& request) const {
  return request.waiting.next_server >= servers_.Of(request.arrived.model).size();
}

void Search::AddEmptiest(const RequestState& request, Tokens needed) {
  by_fullness_.clear();
  for (size_t index : servers_.Of(request.arrived.model)) {
    if (needed <= servers_.Longest(index)) by_fullness_.push_back({servers_.brief(index).fullness, index});
  }
  const size_t emptiest = std::min(kEmptiest, by_fullness_.size());
  std::nth_element(by_fullness_.begin(), by_fullness_.begin() + static_cast<std::ptrdiff_t>(emptiest),
                   by_fullness_.end());
  for (size_t i = 0; i < emptiest; ++i) found_.push_back(by_fullness_[i].second);
  if (request.arrived.prefix.empty()) return;
  size_t holders = 0;
  for (size_t i = emptiest; i < by_fullness_.size() && holders < kHolders; ++i) {
    const size_t index = by_fullness_[i].second;
    if (fleet_.replicas()[index].HopeFor(request).expected == Tokens(0)) continue;
    found_.push_back(index);
    ++holders;
  }
}

const std::vector<size_t>& Search::ReplicasToTry(RequestState* request, Tokens needed) {
  const std::vector<size_t>& servers = servers_.Of(request->arrived.model);
  WaitState& waiting = request->waiting;
  found_.clear();
  if (!waiting.tried_emptiest && servers.size() <= kEmptiest + kHolders) {
    if (!work_.Spend(servers.size())) return found_;
    waiting.tried_emptiest = true;
    waiting.next_server = servers.size();
    return servers;
  }
  if (!waiting.tried_emptiest) {
    if (!work_.Spend(kEmptiest)) return found_;
    waiting.tried_emptiest = true;
    AddEmptiest(*request, needed);
  } else if (waiting.next_server < servers.size()) {
    const size_t more = std::min(work_.budget(), servers.size() - waiting.next_server);
    work_.Spend(more);
    for (size_t i = 0; i < more; ++i) found_.push_back(servers[waiting.next_server++]);
  }
  for (size_t index : work_.opened()) {
    if (!std::binary_search(servers.begin(), servers.end(), index)) continue;
    if (std::find(found_.begin(), found_.end(), index) == found_.end()) found_.push_back(index);
  }
  return found_;
}

}  // namespace penstock
