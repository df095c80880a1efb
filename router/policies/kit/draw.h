// Random draws of replicas from a seeded generator. Equal seeds give equal draws.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_DRAW_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_DRAW_H_

#include <algorithm>
#include <vector>

#include "base/generator.h"
#include "base/ids.h"

namespace penstock {

// A position below `size`; `size` is at least 1.
inline size_t DrawBelow(size_t size, bench::Generator& random) {
  return std::min(size - 1, static_cast<size_t>(random.Uniform() * static_cast<double>(size)));
}

// `count` different replicas of `candidates`, or all where there are fewer, in the order drawn.
inline std::vector<ReplicaId> DrawDistinct(std::vector<ReplicaId> candidates, size_t count, bench::Generator& random) {
  count = std::min(count, candidates.size());
  for (size_t i = 0; i < count; ++i) std::swap(candidates[i], candidates[i + DrawBelow(candidates.size() - i, random)]);
  candidates.resize(count);
  return candidates;
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_DRAW_H_
