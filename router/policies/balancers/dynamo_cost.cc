#include "router/policies/balancers/dynamo_cost.h"

#include <algorithm>
#include <cmath>

#include "router/policies/kit/draw.h"
#include "router/policies/kit/rival_core.h"

namespace penstock {
namespace {

constexpr double kBlock = 16;
constexpr double kBlocksOfPrefix = static_cast<double>(kPrefixBlock.value()) / kBlock;

// The blocks of the prompt after its last hashed one: no other request shares them.
double OwnBlocks(const RequestArrived& request) {
  const double hashed = kPrefixBlock.AsDouble() * static_cast<double>(request.prefix.size());
  return std::ceil(std::max(0.0, request.prompt.AsDouble() - hashed) / kBlock);
}

}  // namespace

double DynamoCost::Uncached(const RequestArrived& request, ReplicaId id) const {
  return (request.prompt - index_.Matched(id, request, now())).AsDouble();
}

double DynamoCost::Cost(const RequestArrived& request, ReplicaId id) const {
  const Books& books = books_[id.value()];
  double active = books.active + OwnBlocks(request);
  for (uint64_t hash : request.prefix) active += books.users.contains(hash) ? 0 : kBlocksOfPrefix;
  return options_.overlap_weight * (books.prefill + Uncached(request, id)) / kBlock + active;
}

RivalRule::Choice DynamoCost::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
  const bool queued = options_.queue > 0 && std::all_of(candidates.begin(), candidates.end(), [this](ReplicaId id) {
                        return books_[id.value()].prefill > options_.queue * spec(id).batch_budget.AsDouble();
                      });
  if (queued) return WaitReason::kRunway;
  std::vector<double> costs;
  costs.reserve(candidates.size());
  for (ReplicaId id : candidates) costs.push_back(Cost(request, id));
  return Draw(candidates, costs);
}

ReplicaId DynamoCost::Draw(const std::vector<ReplicaId>& candidates, const std::vector<double>& costs) {
  const auto [low, high] = std::minmax_element(costs.begin(), costs.end());
  if (options_.temperature > 0) {
    const double range = std::max(1e-9, *high - *low);
    std::vector<double> weights;
    double total = 0;
    for (double cost : costs) total += weights.emplace_back(std::exp(-(cost - *low) / (range * options_.temperature)));
    double left = random_.Uniform() * total;
    for (size_t i = 0; i + 1 < weights.size(); ++i) {
      left -= weights[i];
      if (left <= 0) return candidates[i];
    }
    return candidates.back();
  }
  std::vector<ReplicaId> best;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (costs[i] > *low) continue;
    if (!best.empty() && index_.Size(candidates[i]) > index_.Size(best.front())) continue;
    if (!best.empty() && index_.Size(candidates[i]) < index_.Size(best.front())) best.clear();
    best.push_back(candidates[i]);
  }
  return best[DrawBelow(best.size(), random_)];
}

void DynamoCost::OnDispatched(const Live& live) {
  Books& books = books_[live.replica.value()];
  const double uncached = Uncached(live.request, live.replica);
  prefill_tokens_[live.request.request] = uncached;
  books.prefill += uncached;
  books.active += OwnBlocks(live.request);
  for (uint64_t hash : live.request.prefix) {
    if (++books.users[hash] == 1) books.active += kBlocksOfPrefix;
  }
  index_.Insert(live.replica, live.request, now());
}

void DynamoCost::PrefillDone(const Live& live) {
  const auto found = prefill_tokens_.find(live.request.request);
  if (found == prefill_tokens_.end()) return;
  books_[live.replica.value()].prefill -= found->second;
  prefill_tokens_.erase(found);
}

void DynamoCost::OnFirstToken(const Live& live) { PrefillDone(live); }

void DynamoCost::OnEnded(const Live& live, const RequestClosed*) {
  PrefillDone(live);
  Books& books = books_[live.replica.value()];
  books.active -= OwnBlocks(live.request);
  for (uint64_t hash : live.request.prefix) {
    const auto found = books.users.find(hash);
    if (--found->second > 0) continue;
    books.users.erase(found);
    books.active -= kBlocksOfPrefix;
  }
}

PolicyDeclaration DynamoCostPolicy() {
  const DynamoCost::Options defaults;
  PolicyDeclaration policy;
  policy.name = "dynamo_cost";
  policy.settings = {
      NumberSetting("overlap_weight", defaults.overlap_weight, 0, 1000, "weight of prefill blocks"),
      NumberSetting("temperature", defaults.temperature, 0, 100, "temperature of the softmax; 0: the lowest cost"),
      NumberSetting("ttl", defaults.ttl.seconds(), 0, 86400, "seconds for which a sent prefix counts as cached"),
      NumberSetting("queue", defaults.queue, 0, 1e6,
                    "step budgets of prefill on every replica from which requests wait; 0: never")};
  policy.alternatives = {"overlap_weight=0", "overlap_weight=0.5", "overlap_weight=2", "queue=2"};
  policy.text = {"NVIDIA Dynamo's KV router", "weight x prefill blocks not cached + active blocks",
                 "the prompts that it sent; first tokens and ends of its own requests", "nothing more",
                 "The policy remembers the prompts that it sent. It reads no cache events of engines."};
  policy.make = [](const PolicyChoice& choice, uint64_t seed) {
    const DynamoCost::Options options{choice["overlap_weight"], choice["temperature"], Duration::Seconds(choice["ttl"]),
                                      choice["queue"]};
    return MakeRival<DynamoCost>(options, seed);
  };
  return policy;
}

}  // namespace penstock
