// The counters of an engine's prefix cache, set against the tokens that were expected there.
//
// The third source for HitReliability. It serves where answers have no count of cached tokens, and prompts are too
// short for a first token to show it. An engine counts all its prompts, so a part of the prompts is compared, not each
// one. Where others send it much more than this router does, its counters say nothing. Invariant: no prompt that was
// shown otherwise counts as evidence. Owned by PromptCache. All methods are O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_CACHE_COUNTERS_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_CACHE_COUNTERS_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/units.h"

namespace penstock {

class CacheCounters {
 public:
  // Expected tokens before the counters are looked at: reports and first tokens are not of one moment.
  static constexpr double kLeastTokens = 4096;
  // The engine's prompts over this router's, at most.
  static constexpr double kMostOthers = 1.5;

  struct Evidence {
    Tokens expected{0};
    Tokens found{0};
  };

  // The engine has computed a prompt of this router's. Of it, `live` and `left` tokens were taken to be cached: those
  // of running and of ended requests. True `shown`: its first token has shown how many were.
  void Computed(Tokens prompt, Tokens live, Tokens left, bool shown) {
    prompts_ += prompt.AsDouble();
    live_ += live.AsDouble();
    left_ += left.AsDouble();
    if (!shown) unshown_ += left.AsDouble();
  }
  // An answer has a count of its cached tokens, as all answers of the engine then have.
  void Counted() { counted_ = true; }

  // The counters since the engine's start, in tokens; negative: it has none. Returns what they say of the tokens that
  // nothing else has shown.
  std::optional<Evidence> Take(int64_t queries, int64_t hits) {
    if (counted_ || queries < 0 || hits < 0) return std::nullopt;
    if (queries_ < 0 || queries < queries_ || hits < hits_) return Restart(queries, hits);
    if (unshown_ < kLeastTokens || queries == queries_) return std::nullopt;
    const auto asked = static_cast<double>(queries - queries_);
    const double part = static_cast<double>(hits - hits_) / asked;
    const double found = std::clamp((part * prompts_ - live_) / left_, 0.0, 1.0);
    const Evidence evidence{Tokens(static_cast<int64_t>(unshown_)), Tokens(static_cast<int64_t>(unshown_ * found))};
    const bool own = asked <= kMostOthers * prompts_;
    Restart(queries, hits);
    return own ? std::optional(evidence) : std::nullopt;
  }

 private:
  std::nullopt_t Restart(int64_t queries, int64_t hits) {
    queries_ = queries;
    hits_ = hits;
    prompts_ = live_ = left_ = unshown_ = 0;
    return std::nullopt;
  }

  bool counted_ = false;
  int64_t queries_ = -1;  // At the last comparison; negative: there was none.
  int64_t hits_ = -1;
  double prompts_ = 0;  // Tokens computed since.
  double live_ = 0;
  double left_ = 0;
  double unshown_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_CACHE_COUNTERS_H_
