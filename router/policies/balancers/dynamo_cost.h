// Lowest cost in KV blocks: the prefill that a replica would have to do, plus the blocks that it holds active.
//
// cost = overlap_weight x prefill blocks + active blocks, of 16 tokens each. Prefill blocks are the blocks of this
// prompt that the replica was not sent before. The prefill of requests there whose first token has not come counts too.
// Active blocks are the prompt blocks of the running requests and of this one; a shared prefix counts once. The lowest
// cost wins; at equal costs the replica that was sent fewer tokens so far, then one drawn at random. With a
// `temperature` above 0 the policy draws the replica with the softmax of -cost / (range x temperature). A sent prefix
// counts as cached for `ttl` seconds. With `queue` > 0 a request waits while every replica has more than that many
// step budgets of prefill before it. The policy refuses nothing for lateness.
// Rule: NVIDIA Dynamo's KV router (ai-dynamo/dynamo, lib/kv-router/src/scheduling/selector.rs; overlap weight 1,
// temperature 0, approximate indexer with 120 s where engines send no cache events, queue threshold).
#ifndef PENSTOCK_ROUTER_POLICIES_BALANCERS_DYNAMO_COST_H_
#define PENSTOCK_ROUTER_POLICIES_BALANCERS_DYNAMO_COST_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/generator.h"
#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"
#include "router/policies/kit/sent_prefixes.h"

namespace penstock {

class DynamoCost final : public RivalRule {
 public:
  struct Options {
    double overlap_weight = 1;
    double temperature = 0;
    Duration ttl = Duration::Seconds(120);
    double queue = 0;
  };
  DynamoCost(const Options& options, uint64_t seed)
      : options_(options), random_(seed), index_({Tokens(int64_t{1} << 40), options.ttl}) {}

 private:
  struct Books {
    double prefill = 0;                        // Prompt tokens of requests before their first token.
    double active = 0;                         // Blocks.
    absl::flat_hash_map<uint64_t, int> users;  // Requests per prefix block, by its hash.
  };

  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  bool RetriesOnTokens() const override { return options_.queue > 0; }
  void OnDispatched(const Live& live) override;
  void OnFirstToken(const Live& live) override;
  void OnEnded(const Live& live, const RequestClosed* closed) override;
  void OnFleet() override {
    books_.resize(fleet().replicas.size());
    index_.FollowFleet(fleet());
  }

  double Cost(const RequestArrived& request, ReplicaId id) const;
  double Uncached(const RequestArrived& request, ReplicaId id) const;
  ReplicaId Draw(const std::vector<ReplicaId>& candidates, const std::vector<double>& costs);
  void PrefillDone(const Live& live);

  Options options_;
  bench::Generator random_;
  SentPrefixes index_;
  std::vector<Books> books_;                               // One per replica.
  absl::flat_hash_map<RequestId, double> prefill_tokens_;  // Uncached prompt tokens before the first token.
};

PolicyDeclaration DynamoCostPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_BALANCERS_DYNAMO_COST_H_
