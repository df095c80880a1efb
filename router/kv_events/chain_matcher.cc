#include "router/kv_events/chain_matcher.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// Blocks of a request can be stored this long before the router counts it as dispatched: the loops report late.
constexpr Duration kEarly = Duration::Milliseconds(50);
// A chain without an owner is given up when it has not grown for so long.
constexpr Duration kChainLife = Duration::Seconds(60);
// A named one when its request must be over.
constexpr Duration kOwnedLife = Duration::Seconds(600);
// Blocks that follow a chain after such a pause are of another request, or a part of the chain that stands for itself.
constexpr Duration kPause = Duration::Seconds(1);

}  // namespace

uint64_t ChainMatcher::ChainFor(const StoredRun& stored, Instant now) {
  if (stored.owner) {
    const auto found = by_owner_.find(*stored.owner);
    if (found != by_owner_.end()) return found->second;
  } else if (stored.parent) {
    const auto found = by_last_.find(*stored.parent);
    const Chain* before = found == by_last_.end() ? nullptr : &chains_.at(found->second);
    if (before != nullptr && !before->owner && !before->taken && now - before->last_at <= kPause) return found->second;
  }
  if (chains_.size() >= kMostChains) Drop(chains_.begin());
  const uint64_t number = next_++;
  Chain& chain = chains_[number];
  chain.owner = stored.owner;
  chain.first_position = stored.first_position;
  chain.first_at = now;
  if (stored.owner) by_owner_[*stored.owner] = number;
  return number;
}

void ChainMatcher::OnStored(const StoredRun& stored, Instant now) {
  names_ = names_ || stored.owner;
  block_size_ = stored.block_size;
  const uint64_t number = ChainFor(stored, now);
  Chain& chain = chains_.at(number);
  chain.last_at = now;
  // Blocks of a preempted request come again.
  if (stored.last_position < chain.blocks) return;
  if (chain.blocks > 0) by_last_.erase(chain.last);
  chain.last = stored.last;
  chain.blocks = stored.last_position + 1;
  by_last_[chain.last] = number;
}

void ChainMatcher::Drop(Chains::iterator at) {
  const Chain& chain = at->second;
  if (!chain.taken) ++unowned_;
  if (const auto last = by_last_.find(chain.last); last != by_last_.end() && last->second == at->first) {
    by_last_.erase(last);
  }
  if (chain.owner) by_owner_.erase(*chain.owner);
  chains_.erase(at);
}

void ChainMatcher::ForgetOld(Instant now) {
  // The oldest come first, but a long answer may grow behind them.
  for (auto at = chains_.begin(); at != chains_.end();) {
    const Chain& chain = at->second;
    const bool old = now - chain.last_at > (chain.owner ? kOwnedLife : kChainLife);
    const auto next = std::next(at);
    if (old || (chain.taken && now - chain.last_at > kSettle)) Drop(at);
    at = next;
  }
  while (!settled_.empty() && now - settled_.front().closed > kChainLife) settled_.pop_front();
}

void ChainMatcher::ForgetChains() {
  unowned_ += static_cast<int64_t>(chains_.size());
  chains_.clear();
  by_last_.clear();
  by_owner_.clear();
}

void ChainMatcher::OnDispatched(EngineRun run) {
  if (open_.size() >= kMostRuns) open_.erase(open_.begin());
  const RequestId id = run.request;
  open_[id] = std::move(run);
}

void ChainMatcher::OnGone(RequestId request) {
  open_.erase(request);
  const auto found = by_owner_.find(request);
  if (found != by_owner_.end()) Drop(chains_.find(found->second));
}

void ChainMatcher::OnClosed(const EngineRun& run) {
  open_.erase(run.request);
  if (closed_.size() >= kMostRuns) closed_.pop_front();
  closed_.push_back(run);
}

std::vector<Match> ChainMatcher::Judge(Instant now) {
  std::vector<Match> ended;
  for (size_t left = closed_.size(); left-- > 0;) {
    EngineRun run = std::move(closed_.front());
    closed_.pop_front();
    std::optional<Match> match = now - run.closed < kSettle ? std::nullopt : JudgeOne(run, now);
    if (!match) {
      closed_.push_back(std::move(run));
      continue;
    }
    if (match->end == MatchEnd::kAmbiguous || match->end == MatchEnd::kNone) {
      if (settled_.size() >= kMostRuns) settled_.pop_front();
      settled_.push_back(std::move(run));
    }
    ended.push_back(*std::move(match));
  }
  ForgetOld(now);
  return ended;
}

std::optional<Match> ChainMatcher::JudgeOne(const EngineRun& run, Instant now) {
  if (const auto named = by_owner_.find(run.request); named != by_owner_.end()) {
    Chain& chain = chains_.at(named->second);
    chain.taken = true;
    return Match{run, MatchEnd::kNamed, chain.last};
  }
  if (names_ || block_size_ <= 0 || !run.plain) return Match{run};
  Chain* only = nullptr;
  for (auto& [number, chain] : chains_) {
    if (!Fits(chain, run)) continue;
    if (only != nullptr) return Match{run, MatchEnd::kAmbiguous};
    only = &chain;
  }
  if (only == nullptr) return Match{run};
  bool open = false;
  if (HasRival(*only, run, open)) {
    if (open && now - run.closed < kPatience) return std::nullopt;
    return Match{run, MatchEnd::kAmbiguous};
  }
  only->taken = true;
  return Match{run, MatchEnd::kLength, only->last};
}

bool ChainMatcher::Fits(const Chain& chain, const EngineRun& run) const {
  if (chain.owner || chain.taken || chain.first_at + kEarly < run.dispatched) return false;
  if (run.closed < Instant::Never() && chain.last_at > run.closed + kSettle) return false;
  // The last token of an answer is not computed, unless a step began before its end was known.
  const int64_t tokens = run.prompt.value() + run.output.value();
  if (chain.blocks != (tokens - 1) / block_size_ && chain.blocks != tokens / block_size_) return false;
  return run.cached < Tokens(0) || chain.first_position >= run.cached.value() / block_size_;
}

bool ChainMatcher::HasRival(const Chain& chain, const EngineRun& run, bool& open) const {
  open = std::any_of(open_.begin(), open_.end(),
                     [&](const auto& each) { return !(chain.first_at + kEarly < each.second.dispatched); });
  const auto fits = [&](const EngineRun& other) {
    return other.request != run.request && (!other.plain || Fits(chain, other));
  };
  return open || std::any_of(closed_.begin(), closed_.end(), fits) ||
         std::any_of(settled_.begin(), settled_.end(),
                     [&](const EngineRun& other) { return other.plain && fits(other); });
}

}  // namespace penstock
