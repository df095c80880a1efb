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
  if (prefix.empty()) return {};
  if (answer_.blocks == prefix.size() && answer_.last == prefix.back()) return answer_.match;
  Match match = LookOnGpu(prefix);
  if (host_.size() > 0) {
    const auto rest = prefix.begin() + match.live + match.left;
    const auto holds = [this](uint64_t block) { return Holds(block); };
    match.host = std::find_if_not(rest, prefix.end(), holds) - rest;
  }
  answer_ = {prefix.size(), prefix.back(), match};
  return match;
}

PromptCache::Match PromptCache::LookOnGpu(const Prefix& prefix) const {
  Match match;
  match.live = match.held = live_.Held(prefix);
  const auto rest = prefix.begin() + match.live;
  if (told_.size() > 0) {
    const auto sure = std::find_if_not(rest, prefix.end(), [this](uint64_t block) { return IsSure(block); });
    const auto end = std::find_if_not(sure, prefix.end(), [this](uint64_t block) { return OnGpu(block); });
    match.live = sure - prefix.begin();
    match.left = end - sure;
    return match;
  }
  if (left_.size() == 0) return match;
  const auto end = std::partition_point(
      rest, prefix.end(), [this](uint64_t block) { return left_.Contains(block) || live_.Contains(block); });
  match.left = end - rest;
  return match;
}

void PromptCache::Join(RequestId request, const Prefix& prefix, std::vector<RequestId>& others) {
  answer_ = {};
  for (size_t i = 0; i < prefix.size(); ++i) {
    const uint64_t block = prefix[i];
    const bool landmark = holders_ != nullptr && PrefixHolders::IsLandmark(i);
    if (landmark && !Holds(block)) holders_->Add(block, replica_);
    left_.Take(block);
    Note(live_.Add(block, request), request, others);
  }
}

void PromptCache::UnlistLost(PrefixIndex& index) {
  if (index.lost().empty()) return;
  for (const uint64_t block : index.lost()) {
    if (holders_ != nullptr && !Holds(block)) holders_->Remove(block, replica_);
  }
  index.ForgetLost();
}

void PromptCache::Leave(RequestId request, const Prefix& prefix, int64_t kept, std::vector<RequestId>& others) {
  answer_ = {};
  // The head of a prompt is put last: it is the newest.
  for (size_t i = prefix.size(); i-- > 0;) {
    const uint64_t block = prefix[i];
    const bool landmark = holders_ != nullptr && PrefixHolders::IsLandmark(i);
    Note(live_.Remove(block, request), request, others);
    if (static_cast<int64_t>(i) < kept) {
      if (!IsSure(block)) left_.Put(block, landmark);
      host_.Put(block, landmark);
    }
    if (landmark && !Holds(block)) holders_->Remove(block, replica_);
  }
  UnlistLost(left_);
  UnlistLost(host_);
}

void PromptCache::Take(const CacheReport& report) {
  answer_ = {};
  if (report.news == CacheNews::kCleared) ForgetLeft();
  if (report.news == CacheNews::kUnsure) Doubt();
  for (const PromptBlock& block : report.removed) TakeRemoved(block);
  for (const PromptBlock& block : report.stored) TakeStored(block);
  TakeHost(report);
}

void PromptCache::Doubt() {
  for (const PrefixIndex::Block& block : told_.TakeAll()) {
    if (!live_.Contains(block.hash)) left_.Put(block.hash, block.landmark);
    if (block.landmark && holders_ != nullptr && !Holds(block.hash)) holders_->Remove(block.hash, replica_);
  }
  UnlistLost(left_);
}

void PromptCache::TakeStored(const PromptBlock& stored) {
  const bool landmark = holders_ != nullptr && PrefixHolders::IsLandmark(static_cast<size_t>(stored.position));
  if (landmark && !Holds(stored.block)) holders_->Add(stored.block, replica_);
  left_.Take(stored.block);
  told_.Put(stored.block, landmark);
}

void PromptCache::TakeRemoved(const PromptBlock& removed) {
  const bool landmark = holders_ != nullptr && PrefixHolders::IsLandmark(static_cast<size_t>(removed.position));
  left_.Take(removed.block);
  told_.Take(removed.block);
  if (landmark && !Holds(removed.block)) holders_->Remove(removed.block, replica_);
}

void PromptCache::TakeHost(const CacheReport& report) {
  const auto is_listed = [this](const PromptBlock& block) {
    return holders_ != nullptr && PrefixHolders::IsLandmark(static_cast<size_t>(block.position));
  };
  for (const PromptBlock& each : report.host_removed) {
    host_.Take(each.block);
    if (is_listed(each) && !Holds(each.block)) holders_->Remove(each.block, replica_);
  }
  for (const PromptBlock& each : report.host_stored) {
    const bool held = Holds(each.block);
    host_.Put(each.block, is_listed(each));
    if (is_listed(each) && !held && Holds(each.block)) holders_->Add(each.block, replica_);
  }
  UnlistLost(host_);
}

}  // namespace penstock
