// Cache-aware routing with a balance check: a request follows its prefix while the replicas are balanced.
//
// The replicas are imbalanced when the fullest has more than `balance_abs` requests in flight over the emptiest, and
// also more than `balance_rel` times as many. They are imbalanced too when one reports a KV share above `overload`
// (off at 1). Then the emptiest replica gets the request.
// Otherwise the replica that was sent the longest part of the prompt wins, if that part is more than `cache_threshold`
// of the prompt. At equal length the emptier replica wins. Else the replica with the smallest tree wins: it has the
// most room for new prefixes. A tree is approximate: it holds the sent prompts, and forgets the least recent beyond
// `tree_tokens`.
// A request waits only while every replica of its model is on probation. The policy refuses nothing for lateness.
// Rule: SGLang router and its successor Shepherd Model Gateway (lightseekorg/smg, model_gateway/src/policies/
// cache_aware.rs). Its command line has 0.3, 64, 1.5 and trees of 2^26 characters; its library has 0.5, 32, 1.1.
#ifndef PENSTOCK_ROUTER_POLICIES_BALANCERS_CACHE_AWARE_H_
#define PENSTOCK_ROUTER_POLICIES_BALANCERS_CACHE_AWARE_H_

#include <vector>

#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"
#include "router/policies/kit/sent_prefixes.h"
#include "router/policies/kit/turns.h"

namespace penstock {

class CacheAware final : public RivalRule {
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
  void OnFleet() override { index_.FollowFleet(fleet()); }
  bool Imbalanced(const std::vector<ReplicaId>& candidates) const;
  ReplicaId ByCache(const RequestArrived& request, const std::vector<ReplicaId>& candidates) const;

  Options options_;
  SentPrefixes index_;
  Turns turns_;
};

PolicyDeclaration CacheAwarePolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_BALANCERS_CACHE_AWARE_H_
