#include "router/policies/chwbl.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

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
    if (!Serves(replica, model)) continue;
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

RivalCore::Choice Chwbl::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
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

}  // namespace penstock
