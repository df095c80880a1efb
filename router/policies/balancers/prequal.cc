#include "router/policies/balancers/prequal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "router/core/contract/vacancy.h"
#include "router/policies/kit/draw.h"
#include "router/policies/kit/rival_core.h"

namespace penstock {
namespace {

constexpr Duration kProbeAge = Duration::Seconds(1);
constexpr double kRemovalsPerRequest = 1;
constexpr double kReuseMargin = 1;  // The paper's delta.
constexpr size_t kRecentRifs = 128;
constexpr size_t kRecentLatencies = 32;
// The median counts of so many latencies with the most similar RIF.
constexpr size_t kSimilar = 9;

}  // namespace

RivalRule::Choice Prequal::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
  Pool& pool = pools_[request.model];
  DropUnusable(pool, candidates);
  ReplicaId chosen = candidates[DrawBelow(candidates.size(), random_)];
  if (pool.probes.size() >= 2) {
    Probe& probe = pool.probes[Select(pool, false)];
    chosen = probe.replica;
    ++probe.rif;
    --probe.uses_left;
    RemoveOne(pool);
  }
  SendProbes(pool, candidates);
  return chosen;
}

void Prequal::DropUnusable(Pool& pool, const std::vector<ReplicaId>& candidates) const {
  std::erase_if(pool.probes, [&](const Probe& probe) {
    return now() - probe.at > kProbeAge || probe.uses_left < 1 ||
           !std::binary_search(candidates.begin(), candidates.end(), probe.replica);
  });
}

int64_t Prequal::HotAbove(const Pool& pool) const {
  if (options_.q_rif >= 1) return std::numeric_limits<int64_t>::max();
  if (options_.q_rif <= 0 || pool.recent_rifs.empty()) return -1;
  std::vector<int64_t> rifs(pool.recent_rifs.begin(), pool.recent_rifs.end());
  const auto at = rifs.begin() + static_cast<int64_t>(options_.q_rif * static_cast<double>(rifs.size() - 1));
  std::nth_element(rifs.begin(), at, rifs.end());
  return *at;
}

size_t Prequal::Select(const Pool& pool, bool worst) const {
  const int64_t hot_above = HotAbove(pool);
  const auto rank = [&](const Probe& probe) {
    const bool hot = probe.rif > hot_above;
    return std::pair(hot, hot ? static_cast<double>(probe.rif) : probe.latency);
  };
  const auto less = [&](const Probe& a, const Probe& b) { return rank(a) < rank(b); };
  const auto found = worst ? std::max_element(pool.probes.begin(), pool.probes.end(), less)
                           : std::min_element(pool.probes.begin(), pool.probes.end(), less);
  return static_cast<size_t>(found - pool.probes.begin());
}

void Prequal::RemoveOne(Pool& pool) {
  const size_t position = pool.remove_oldest ? 0 : Select(pool, true);
  pool.remove_oldest = !pool.remove_oldest;
  pool.probes.erase(pool.probes.begin() + static_cast<int64_t>(position));
}

void Prequal::SendProbes(Pool& pool, const std::vector<ReplicaId>& candidates) {
  for (ReplicaId id : DrawDistinct(candidates, options_.probes, random_)) {
    std::erase_if(pool.probes, [id](const Probe& probe) { return probe.replica == id; });
    if (pool.probes.size() >= options_.pool) pool.probes.erase(pool.probes.begin());
    const int64_t rif = replica(id).running;
    pool.probes.push_back({id, rif, LatencyOf(id), now(), UsesOfProbe(candidates.size())});
    pool.recent_rifs.push_back(rif);
    if (pool.recent_rifs.size() > kRecentRifs) pool.recent_rifs.pop_front();
  }
}

// The paper's b_reuse. Where the pool can hold every replica, a newer probe replaces each before its uses end.
double Prequal::UsesOfProbe(size_t replicas) const {
  const double share = static_cast<double>(options_.pool) / static_cast<double>(replicas);
  const double surplus = (1 - share) * static_cast<double>(options_.probes) - kRemovalsPerRequest;
  if (surplus <= 0) return std::numeric_limits<double>::infinity();
  return std::max(1.0, (1 + kReuseMargin) / surplus);
}

void Prequal::OnFirstToken(const Live& live) {
  if (options_.to_first_token) Learn(live);
}

void Prequal::OnEnded(const Live& live, const RequestClosed* closed) {
  if (closed == nullptr || closed->outcome != Outcome::kFinished) return;
  if (!options_.to_first_token || !live.request.observed) Learn(live);
}

void Prequal::OnFleet() {
  latencies_.resize(fleet().replicas.size());
  for (size_t i = 0; i < latencies_.size(); ++i) {
    if (IsVacant(fleet().replicas[i])) latencies_[i].clear();
  }
}

void Prequal::Learn(const Live& live) {
  auto& recent = latencies_[live.replica.value()];
  recent.emplace_back(live.joined, (now() - live.dispatched).seconds());
  if (recent.size() > kRecentLatencies) recent.pop_front();
}

double Prequal::LatencyOf(ReplicaId id) const {
  if (id.value() >= latencies_.size() || latencies_[id.value()].empty()) return 0;
  std::vector<std::pair<int64_t, double>> by_distance;
  for (const auto& [rif, seconds] : latencies_[id.value()]) {
    by_distance.emplace_back(std::abs(rif - replica(id).running), seconds);
  }
  std::sort(by_distance.begin(), by_distance.end());
  by_distance.resize(std::min(kSimilar, by_distance.size()));
  const auto middle = by_distance.begin() + static_cast<int64_t>(by_distance.size() / 2);
  std::nth_element(by_distance.begin(), middle, by_distance.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  return middle->second;
}

PolicyDeclaration PrequalPolicy() {
  const Prequal::Options defaults;
  PolicyDeclaration policy;
  policy.name = "prequal";
  policy.settings = {
      NumberSetting("q_rif", defaults.q_rif, 0, 1, "quantile of requests in flight above which a replica is hot"),
      WholeSetting("probes", static_cast<double>(defaults.probes), 1, 1024, "probes sent per request"),
      WholeSetting("pool", static_cast<double>(defaults.pool), 2, 1024, "probes in the pool at most"),
      WordSetting("latency", {"answer", "first_token"}, "the event at which a latency ends")};
  policy.alternatives = {"latency=first_token", "q_rif=0.6", "q_rif=0.9", "probes=5,latency=first_token"};
  policy.text = {
      "Prequal (NSDI 2024)",
      "of recent probes: the lowest latency of the cold ones; if none is cold, the fewest requests in flight",
      "its own requests in flight; the latencies of its own answers", "nothing more",
      "A probe returns this router's own counts. They equal the server's counts where nobody else sends it "
      "requests."};
  policy.make = [](const PolicyChoice& choice, uint64_t seed) {
    const Prequal::Options options{choice["q_rif"], static_cast<size_t>(choice["probes"]),
                                   static_cast<size_t>(choice["pool"]), choice["latency"] != 0};
    return MakeRival<Prequal>(options, seed);
  };
  return policy;
}

}  // namespace penstock
