// Power of two choices: of two replicas drawn at random, the less loaded one.
//
// Load is the KV tokens that the replicas last reported, however old; where one of those drawn has reported none, and
// with `load=requests`, it is this router's requests in flight, for all of them. At equal loads the first drawn wins.
// Nothing waits but requests whose every replica is being probed; nothing is refused for lateness.
// Rule: Shepherd Model Gateway, formerly the SGLang router (lightseekorg/smg, model_gateway/src/policies/
// power_of_two.rs).
#ifndef PENSTOCK_ROUTER_POLICIES_POWER_OF_TWO_H_
#define PENSTOCK_ROUTER_POLICIES_POWER_OF_TWO_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/generator.h"
#include "router/policies/rival_core.h"

namespace penstock {

class PowerOfTwo final : public RivalCore {
 public:
  struct Options {
    size_t choices = 2;
    bool by_requests = false;
  };
  PowerOfTwo(const Options& options, uint64_t seed) : options_(options), random_(seed) {}

 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  std::optional<double> ReportedTokens(ReplicaId id) const;

  Options options_;
  bench::Generator random_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_POWER_OF_TWO_H_
