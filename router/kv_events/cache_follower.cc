#include "router/kv_events/cache_follower.h"

#include <algorithm>
#include <iterator>

#include "router/kv_events/prompt_binding.h"
#include "router/kv_events/session_tag.h"

namespace penstock {
namespace {

// Names stand for content, so the anchors of known blocks stay right.
void ForgetStored(EngineBlocks& blocks, Anchors& anchors, ChainMatcher& matcher) {
  blocks.ForgetStored();
  for (const uint64_t block : blocks.TakeForgotten()) anchors.Forget(block);
  matcher.ForgetChains();
}

size_t EntriesOf(const std::optional<KvBatch>& batch) {
  size_t entries = 1;
  if (!batch) return entries;
  for (const KvEvent& event : batch->events) entries += 1 + event.blocks.size();
  return entries;
}

}  // namespace

void CacheFollower::OnDisconnected() {
  watch_.Disconnected();
  held_.clear();
  held_entries_ = 0;
  replay_until_.reset();
  if (!std::exchange(counts_.sure, false)) return;
  news_.Begin(CacheNews::kUnsure);
}

void CacheFollower::OnBatch(uint64_t number, std::optional<KvBatch> batch, Instant now) {
  ++counts_.batches;
  SequenceWatch::Step step = watch_.Live(number);
  if (step == SequenceWatch::Step::kRestarted) {
    Restart();
    step = watch_.Live(number);
  }
  Do(step, {number, std::move(batch)}, now);
}

void CacheFollower::OnReplayed(uint64_t number, std::optional<KvBatch> batch, Instant now) {
  if (watch_.replaying()) Do(watch_.Replayed(number), {number, std::move(batch)}, now);
}

void CacheFollower::Do(SequenceWatch::Step step, Held batch, Instant now) {
  switch (step) {
    case SequenceWatch::Step::kSkip:
    case SequenceWatch::Step::kRestarted:
      return;
    case SequenceWatch::Step::kHold:
      held_entries_ += EntriesOf(batch.second);
      if (held_.size() >= kMostHeld || held_entries_ > kMostHeldEntries) return EndReplay(true, now);
      return held_.push_back(std::move(batch));
    case SequenceWatch::Step::kLost:
      Lose();
      break;
    case SequenceWatch::Step::kTake:
      break;
  }
  if (!batch.second) {
    ++counts_.garbage;
    Lose();
  }
  BecomeSure();
  if (batch.second) Apply(*batch.second, now);
}

void CacheFollower::EndReplay(bool failed, Instant now) {
  if (!watch_.replaying()) return;
  replay_until_.reset();
  if (watch_.EndReplay(failed) == SequenceWatch::Step::kRestarted) return Restart();
  if (watch_.proven()) BecomeSure();
  held_entries_ = 0;
  std::vector<Held> held = std::exchange(held_, {});
  for (Held& batch : held) {
    const SequenceWatch::Step step = watch_.Held(batch.first);
    Do(step, std::move(batch), now);
  }
}

void CacheFollower::Tick(Instant now) {
  if (replay_until_ && now >= *replay_until_) EndReplay(true, now);
  for (const Match& match : matcher_.Judge(now)) {
    const bool named = match.end == MatchEnd::kNamed;
    if (named || match.end == MatchEnd::kLength) {
      ++(named ? counts_.named : counts_.by_length);
      for (const BoundBlock& bound : BindPrompt(match.run, match.last, block_size_, blocks_, anchors_)) {
        counts_.conflicts += bound.conflict ? 1 : 0;
        Tell(bound.block, bound.stored);
        if (counts_.sure && !bound.conflict) host_.TellBound(bound.block, anchors_, news_);
      }
    } else {
      ++(match.end == MatchEnd::kAmbiguous ? counts_.ambiguous : counts_.unmatched);
    }
  }
}

std::optional<uint64_t> CacheFollower::TakeRequest(Instant now) {
  if (now < next_request_) return std::nullopt;
  const std::optional<uint64_t> from = watch_.TakeRequest();
  if (!from) return std::nullopt;
  ++counts_.replays;
  replay_until_ = now + kReplayTimeout;
  next_request_ = now + kReplayPause;
  return from;
}

void CacheFollower::Apply(const KvBatch& batch, Instant now) {
  counts_.ignored += batch.unknown;
  // The last of several clears undoes all before it, in one walk over the blocks.
  const auto cleared = std::find_if(batch.events.rbegin(), batch.events.rend(),
                                    [](const KvEvent& event) { return event.kind == KvEventKind::kCleared; });
  auto next = batch.events.begin();
  if (cleared != batch.events.rend()) {
    next = std::prev(cleared.base());
    counts_.cleared += std::count_if(batch.events.begin(), next,
                                     [](const KvEvent& event) { return event.kind == KvEventKind::kCleared; });
  }
  for (; next != batch.events.end(); ++next) Apply(*next, now);
}

void CacheFollower::Apply(const KvEvent& event, Instant now) {
  if (event.kind == KvEventKind::kCleared) {
    ++counts_.cleared;
    ForgetStored(blocks_, anchors_, matcher_);
    host_.Clear();
    news_.Begin(CacheNews::kCleared);
    return;
  }
  if (event.medium == HostBlocks::kMedium) {
    ++(event.kind == KvEventKind::kStored ? counts_.stored : counts_.removed);
    host_.Take(event, anchors_, counts_.sure ? &news_ : nullptr);
    return;
  }
  if (!Concerns(event)) {
    ++counts_.ignored;
    return;
  }
  if (event.kind == KvEventKind::kStored) {
    ++counts_.stored;
    Store(event, now);
    return;
  }
  ++counts_.removed;
  for (const uint64_t block : event.blocks) {
    if (blocks_.Remove(block)) TellOf(block, false);
  }
  for (const uint64_t block : blocks_.TakeForgotten()) anchors_.Forget(block);
}

// The memory of the GPU, and one group of layers: the first that stores blocks.
bool CacheFollower::Concerns(const KvEvent& event) {
  if (!event.medium.empty() && event.medium != "GPU") return false;
  if (!group_ && event.kind == KvEventKind::kStored) group_ = event.group.value_or(0);
  return !group_ || event.group.value_or(0) == *group_;
}

void CacheFollower::Store(const KvEvent& event, Instant now) {
  if (event.blocks.empty()) return;
  block_size_ = event.block_size;
  std::optional<uint64_t> parent = event.parent;
  for (const uint64_t block : event.blocks) {
    if (blocks_.full()) return Lose();
    if (blocks_.Store(block, parent)) TellOf(block, true);
    parent = block;
  }
  const std::optional<int64_t> last = blocks_.PositionOf(event.blocks.back());
  if (!last) return;
  StoredRun run;
  run.parent = event.parent;
  run.last = event.blocks.back();
  run.last_position = *last;
  run.first_position = *last + 1 - static_cast<int64_t>(event.blocks.size());
  run.owner = RequestOfTag(router_, event.session);
  run.block_size = event.block_size;
  matcher_.OnStored(run, now);
}

void CacheFollower::Lose() {
  ++counts_.losses;
  ForgetStored(blocks_, anchors_, matcher_);
  host_.Clear();
  news_.Begin(CacheNews::kUnsure);
}

void CacheFollower::Restart() {
  ++counts_.restarts;
  blocks_.Clear();
  host_.Clear();
  anchors_.Clear();
  matcher_.ForgetChains();
  group_.reset();
  news_.Begin(CacheNews::kCleared);
}

void CacheFollower::BecomeSure() {
  if (std::exchange(counts_.sure, true)) return;
  TellAll();
}

void CacheFollower::TellAll() {
  for (const auto& [block, engine_block] : anchors_.All()) {
    if (blocks_.IsStored(engine_block)) Tell(block, true);
  }
  if (counts_.sure) host_.TellAll(anchors_, news_);
}

void CacheFollower::Tell(const PromptBlock& block, bool stored) {
  if (counts_.sure) news_.Tell(block, stored);
}

void CacheFollower::TellOf(uint64_t engine_block, bool stored) {
  for (const PromptBlock& block : anchors_.At(engine_block)) Tell(block, stored);
}

FollowerCounts CacheFollower::Counts() const {
  FollowerCounts counts = counts_;
  counts.missed = watch_.missed();
  counts.unowned = matcher_.unowned();
  counts.confirmed = 0;
  if (!counts.sure) return counts;
  for (const auto& [block, engine_block] : anchors_.All()) counts.confirmed += blocks_.IsStored(engine_block) ? 1 : 0;
  return counts;
}

}  // namespace penstock
