#include "router/policies/balancers/chwbl.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "router/policies/kit/rival_core.h"

namespace penstock {
namespace {

// FNV-1a with a final mix: the ring must be the same on every machine.
uint64_t HashOf(absl::string_view text) {
  uint64_t hash = 14695981039346656037ull;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 33);
}

}  // namespace

const Chwbl::Ring& Chwbl::RingOf(ModelId model) {
  Ring& ring = rings_[model];
  if (!ring.empty()) return ring;
  for (uint32_t i = 0; i < fleet().replicas.size(); ++i) {
    const ReplicaSpec& replica = fleet().replicas[i];
    if (!RivalBooks::Serves(replica, model)) continue;
    for (int point = 0; point < options_.replication; ++point) {
      ring.emplace_back(HashOf(absl::StrCat(replica.name, "#", point)), ReplicaId(i));
    }
  }
  std::sort(ring.begin(), ring.end());
  return ring;
}

uint64_t Chwbl::KeyOf(const RequestArrived& request) const {
  // Chained: the last of the leading hashes names them all.
  if (!request.prefix.empty()) {
    const size_t blocks = std::min(options_.prefix_blocks, request.prefix.size());
    return HashOf(absl::StrCat("prefix ", request.prefix[blocks - 1]));
  }
  return HashOf(absl::StrCat("request ", request.request.value()));
}

RivalRule::Choice Chwbl::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
  int64_t total = 1;
  for (ReplicaId id : candidates) total += replica(id).running;
  const double mean = static_cast<double>(total) / static_cast<double>(candidates.size());
  const double most = std::ceil(options_.load_factor * mean);
  const Ring& ring = RingOf(request.model);
  auto point = std::lower_bound(ring.begin(), ring.end(), std::pair(KeyOf(request), ReplicaId(0)));
  // The emptiest candidate is never above the mean, so the walk ends.
  for (size_t i = 0; i < ring.size(); ++i, ++point) {
    if (point == ring.end()) point = ring.begin();
    const ReplicaId id = point->second;
    if (static_cast<double>(replica(id).running) + 1 > most) continue;
    if (std::binary_search(candidates.begin(), candidates.end(), id)) return id;
  }
  return candidates.front();
}

PolicyDeclaration ChwblPolicy() {
  const Chwbl::Options defaults;
  PolicyDeclaration policy;
  policy.name = "chwbl";
  policy.settings = {
      NumberSetting("load_factor", defaults.load_factor, 1, 100, "most requests of a replica, over the mean"),
      WholeSetting("replication", defaults.replication, 1, 4096, "points of a replica on the ring"),
      WholeSetting("prefix_blocks", static_cast<double>(defaults.prefix_blocks), 1, 1024,
                   "leading blocks of 512 tokens that make the key")};
  policy.alternatives = {"load_factor=1.1", "load_factor=1.5", "load_factor=2", "prefix_blocks=4"};
  policy.text = {"Google's consistent hashing with bounded loads, KubeAI PrefixHash",
                 "from the prefix's place on a ring, the first replica with at most ceil(factor x mean) requests",
                 "the hashed blocks of the prompt; its own requests in flight", "nothing more", ""};
  policy.make = [](const PolicyChoice& choice, uint64_t) {
    return MakeRival<Chwbl>(Chwbl::Options{choice["load_factor"], static_cast<int>(choice["replication"]),
                                           static_cast<size_t>(choice["prefix_blocks"])});
  };
  return policy;
}

}  // namespace penstock
