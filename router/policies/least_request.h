// Fewest requests in flight: what proxies without a view of the engines do.
//
// Each request goes at once to the replica that has the fewest of this router's requests, waiting or running; at equal
// counts to the one chosen longest ago. With `choices` > 0 only that many replicas, drawn at random, are compared.
// Nothing waits but requests whose every replica is being probed; nothing is refused for lateness.
// Rule: HAProxy `balance leastconn`, nginx `least_conn`, KubeAI's LeastLoad (internal/loadbalancer/
// balance_least_load.go); `choices` is Envoy's `choice_count` of its least request policy.
#ifndef PENSTOCK_ROUTER_POLICIES_LEAST_REQUEST_H_
#define PENSTOCK_ROUTER_POLICIES_LEAST_REQUEST_H_

#include <cstdint>
#include <vector>

#include "base/generator.h"
#include "router/policies/rival_core.h"
#include "router/policies/turns.h"

namespace penstock {

class LeastRequest final : public RivalCore {
 public:
  struct Options {
    size_t choices = 0;  // 0: all.
  };
  LeastRequest(const Options& options, uint64_t seed) : options_(options), random_(seed) {}

 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }

  Options options_;
  bench::Generator random_;
  Turns turns_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_LEAST_REQUEST_H_
