#include "router/core/prompts/prefix_holders.h"

#include <algorithm>

namespace penstock {

void PrefixHolders::Remove(uint64_t block, uint32_t replica) {
  ++changes_;
  const auto found = holders_.find(block);
  if (found == holders_.end()) return;
  auto& replicas = found->second;
  const auto at = std::find(replicas.begin(), replicas.end(), replica);
  if (at == replicas.end()) return;
  *at = replicas.back();
  replicas.pop_back();
  if (replicas.empty()) holders_.erase(found);
}

std::span<const uint32_t> PrefixHolders::Of(uint64_t block) const {
  const auto found = holders_.find(block);
  return found == holders_.end() ? std::span<const uint32_t>() : std::span<const uint32_t>(found->second);
}

size_t PrefixHolders::Landmarks(const std::vector<uint64_t>& prefix) const {
  size_t held = 0;
  size_t above = (prefix.size() + kLandmark - 1) / kLandmark;
  while (held < above) {
    const size_t middle = (held + above) / 2;
    if (holders_.contains(prefix[middle * kLandmark])) {
      held = middle + 1;
    } else {
      above = middle;
    }
  }
  return held;
}

}  // namespace penstock
