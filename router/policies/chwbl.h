// Consistent hashing with bounded loads: equal prefixes go to the same replica while it is not fuller than the others.
//
// Each replica of a model has `replication` points on a ring. A request starts at the hash of its leading
// `prefix_blocks` blocks and walks on until a replica has, with it, at most ceil(load_factor x mean) of this router's
// requests in flight. A prompt shorter than one block shares no prefix with others and starts anywhere.
// Nothing waits but requests whose every replica is being probed; nothing is refused for lateness.
// Rule: Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded Loads", as KubeAI's PrefixHash strategy
// applies it to prompts (substratusai/kubeai, internal/loadbalancer/balance_chwbl.go; meanLoadFactor 125,
// replication 256). KubeAI hashes the first 100 characters of the first message.
#ifndef PENSTOCK_ROUTER_POLICIES_CHWBL_H_
#define PENSTOCK_ROUTER_POLICIES_CHWBL_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "router/policies/rival_core.h"

namespace penstock {

class Chwbl final : public RivalCore {
 public:
  struct Options {
    double load_factor = 1.25;
    int replication = 256;
    size_t prefix_blocks = 1;
  };
  explicit Chwbl(const Options& options) : options_(options) {}

 private:
  using Ring = std::vector<std::pair<uint64_t, ReplicaId>>;  // Sorted.

  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  void OnFleet() override { rings_.clear(); }
  const Ring& RingOf(ModelId model);
  uint64_t KeyOf(const RequestArrived& request) const;

  Options options_;
  std::map<ModelId, Ring> rings_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_CHWBL_H_
