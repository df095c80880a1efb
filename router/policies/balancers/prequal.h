// Prequal: of a pool of recent probes, the cold replica with the lowest latency, or the least hot replica.
//
// Every request sends `probes` probes to replicas drawn at random; their answers serve later requests. A probe returns
// the requests in flight (RIF) of a replica, and the median latency of recent answers that began at a similar RIF.
// A replica is hot when its RIF is above the `q_rif` quantile of the RIFs lately probed. If the pool has a cold probe,
// the cold probe with the lowest latency wins, else the probe with the lowest RIF. The winner counts one request more
// from then on.
// A probe leaves the pool after one second, after its share of reuses, and when a newer probe of its replica arrives.
// A full pool drops its oldest probe. Each request also removes one probe: in turn the oldest and the worst. With fewer
// than two probes the policy draws the replica. Latency ends with the whole answer, or with its first token under
// `latency=first_token`.
// A request waits only while every replica of its model is on probation. The policy refuses nothing for lateness.
// Rule: Wydrowski, Kleinberg, Rumble, Archer, "Load is not what you should balance: Introducing Prequal" (NSDI 2024).
// Section 4 has its values: Q_RIF 0.84, 3 probes per query, pool of 16, 1 s, 1 removal per query. The servers of the
// paper count their requests themselves. Here all requests are this router's, so its own count equals the answer of a
// probe.
#ifndef PENSTOCK_ROUTER_POLICIES_BALANCERS_PREQUAL_H_
#define PENSTOCK_ROUTER_POLICIES_BALANCERS_PREQUAL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/generator.h"
#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"

namespace penstock {

class Prequal final : public RivalRule {
 public:
  struct Options {
    double q_rif = 0.84;
    size_t probes = 3;
    size_t pool = 16;
    bool to_first_token = false;
  };
  Prequal(const Options& options, uint64_t seed) : options_(options), random_(seed) {}

 private:
  void Forget(ModelId model) override { pools_.erase(model); }
  struct Probe {
    ReplicaId replica;
    int64_t rif = 0;
    double latency = 0;
    Instant at;
    double uses_left = 0;
  };
  struct Pool {
    std::vector<Probe> probes;  // Oldest first.
    std::deque<int64_t> recent_rifs;
    bool remove_oldest = true;
  };

  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  void OnFirstToken(const Live& live) override;
  void OnEnded(const Live& live, const RequestClosed* closed) override;
  void OnFleet() override;

  void DropUnusable(Pool& pool, const std::vector<ReplicaId>& candidates) const;
  // The position of the winning probe, or with `worst` of the losing probe.
  size_t Select(const Pool& pool, bool worst) const;
  void RemoveOne(Pool& pool);
  void SendProbes(Pool& pool, const std::vector<ReplicaId>& candidates);
  double UsesOfProbe(size_t replicas) const;
  int64_t HotAbove(const Pool& pool) const;
  void Learn(const Live& live);
  double LatencyOf(ReplicaId id) const;

  Options options_;
  bench::Generator random_;
  std::map<ModelId, Pool> pools_;
  std::vector<std::deque<std::pair<int64_t, double>>> latencies_;  // By replica: RIF at the start, seconds.
};

PolicyDeclaration PrequalPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_BALANCERS_PREQUAL_H_
