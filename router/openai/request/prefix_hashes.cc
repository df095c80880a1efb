#include "router/openai/request/prefix_hashes.h"

#include <xxhash.h>

#include <algorithm>

#include "router/core/contract/event.h"

namespace penstock {
namespace {

constexpr size_t kBytesPerToken = 4;
constexpr size_t kNamedBytes = static_cast<size_t>(kPrefixBlock.value()) * kBytesPerToken;

}  // namespace

std::vector<uint64_t> PrefixHashes(std::string_view prompt, ModelId model) {
  std::vector<uint64_t> hashes(std::min(prompt.size() / kNamedBytes, kMostPrefixBlocks));
  uint64_t chain = model.value();
  for (size_t i = 0; i < hashes.size(); ++i) {
    chain = XXH3_64bits_withSeed(prompt.data() + i * kNamedBytes, kNamedBytes, chain);
    hashes[i] = chain;
  }
  return hashes;
}

}  // namespace penstock
