// Cache-aware routing with a balance check: follow the prefix while no replica is much fuller than another.
//
// Imbalanced means: the fullest replica has more than `balance_abs` requests in flight over the emptiest, and more than
// `balance_rel` times as many; or one reports a KV share above `overload` (off at 1). Then the emptiest replica gets
// the request. Otherwise the replica that was sent the longest part of the prompt, if that is more than
// `cache_threshold` of it (at equal length the emptier one); else the one with the smallest tree, which has the most
// room for new prefixes. Trees are approximate: what was sent, least recent forgotten beyond `tree_tokens`.
// Nothing waits but requests whose every replica is being probed; nothing is refused for lateness.
// Rule: SGLang router and its successor Shepherd Model Gateway (lightseekorg/smg, model_gateway/src/policies/
// cache_aware.rs; its command line has 0.3, 64, 1.5, trees of 2^26 characters; its library 0.5, 32, 1.1).
#ifndef PENSTOCK_ROUTER_POLICIES_CACHE_AWARE_H_
#define PENSTOCK_ROUTER_POLICIES_CACHE_AWARE_H_

#include <vector>

#include "router/policies/rival_core.h"
#include "router/policies/sent_prefixes.h"
#include "router/policies/turns.h"

namespace penstock {

class CacheAware final : public RivalCore {
 public:
  struct Options {
    double cache_threshold = 0.3;
    double balance_abs = 64;
    double balance_rel = 1.5;
    double overload = 1;
    Tokens tree_tokens{int64_t{1} << 24};
  };
  explicit CacheAware(const Options& options)
      : options_(options), index_({options.tree_tokens, Duration::Infinite()}) {}

 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  bool Imbalanced(const std::vector<ReplicaId>& candidates) const;
  ReplicaId ByCache(const RequestArrived& request, const std::vector<ReplicaId>& candidates) const;

  Options options_;
  SentPrefixes index_;
  Turns turns_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_CACHE_AWARE_H_
