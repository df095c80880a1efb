#include "router/core/prompts/prompt_cache.h"

#include <algorithm>

namespace penstock {
namespace {

// Along a prompt the same request mostly comes several times in a row.
void Note(std::optional<RequestId> other, RequestId self, std::vector<RequestId>& others) {
  if (!other || *other == self) return;
  if (std::find(others.rbegin(), others.rend(), *other) == others.rend()) others.push_back(*other);
}

}  // namespace

PromptCache::Match PromptCache::Find(const Prefix& prefix) const {
  Match match;
  match.live = live_.Held(prefix);
  if (left_.size() == 0) return match;
  const auto rest = prefix.begin() + match.live;
  const auto end = std::partition_point(
      rest, prefix.end(), [this](uint64_t block) { return left_.Contains(block) || live_.Contains(block); });
  match.left = end - rest;
  return match;
}

void PromptCache::Join(RequestId request, const Prefix& prefix, std::vector<RequestId>& others) {
  for (size_t i = 0; i < prefix.size(); ++i) {
    const uint64_t block = prefix[i];
    const bool landmark = holders_ != nullptr && PrefixHolders::IsLandmark(i);
    if (landmark && !Holds(block)) holders_->Add(block, replica_);
    left_.Take(block);
    Note(live_.Add(block, request), request, others);
  }
}

void PromptCache::UnlistLost() {
  if (left_.lost().empty()) return;
  for (const uint64_t block : left_.lost()) {
    if (holders_ != nullptr && !Holds(block)) holders_->Remove(block, replica_);
  }
  left_.ForgetLost();
}

void PromptCache::Leave(RequestId request, const Prefix& prefix, int64_t kept, std::vector<RequestId>& others) {
  // The head of a prompt is put last: it is the newest.
  for (size_t i = prefix.size(); i-- > 0;) {
    const uint64_t block = prefix[i];
    const bool landmark = holders_ != nullptr && PrefixHolders::IsLandmark(i);
    Note(live_.Remove(block, request), request, others);
    if (static_cast<int64_t>(i) < kept && !live_.Contains(block)) left_.Put(block, landmark);
    if (landmark && !Holds(block)) holders_->Remove(block, replica_);
  }
  UnlistLost();
}

}  // namespace penstock
