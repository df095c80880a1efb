#include "router/kv_events/prompt_binding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace penstock {
namespace {

// The bytes of a prompt block, as the router cuts them: four for a token.
constexpr double kBlockBytes = 4.0 * static_cast<double>(kPrefixBlock.value());
// Two requests that share a prompt block share that part of its engine blocks at least.
constexpr double kLeastShared = 0.5;

using Path = std::vector<uint64_t>;

// The last block that both have: of `path`, and of the prompt that ends with `block`.
std::optional<int64_t> LastShared(uint64_t block, const Path& path, const EngineBlocks& blocks) {
  std::optional<uint64_t> at = block;
  int64_t behind = std::numeric_limits<int64_t>::max();
  while (at) {
    const std::optional<int64_t> position = blocks.PositionOf(*at);
    // A publisher that lies may put blocks in a circle.
    if (!position || *position >= behind) return std::nullopt;
    behind = *position;
    if (*position < static_cast<int64_t>(path.size()) && path[static_cast<size_t>(*position)] == *at) return position;
    at = blocks.ParentOf(*at);
  }
  return std::nullopt;
}

// The prompt block ends with so many blocks of `path`, as far as its bytes tell. Adds what changed to `bound`.
void BindBlock(const PromptBlock& block, const Path& path, size_t end, const EngineBlocks& blocks, Anchors& anchors,
               std::vector<BoundBlock>& bound) {
  size_t count = end;
  if (const std::optional<uint64_t> before = anchors.Of(block.block)) {
    const std::optional<int64_t> shared = LastShared(*before, path, blocks);
    if (!shared || static_cast<double>(*shared + 1) < kLeastShared * static_cast<double>(end)) {
      anchors.Unbind(block.block);
      bound.push_back({block, false, true});
      return;
    }
    count = static_cast<size_t>(*shared + 1);
    if (path[count - 1] == *before) return;
  }
  if (const auto gone = anchors.Bind(block, path[count - 1])) bound.push_back({*gone, false, false});
  bound.push_back({block, blocks.IsStored(path[count - 1])});
}

}  // namespace

std::vector<BoundBlock> BindPrompt(const EngineRun& run, uint64_t last, int64_t block_size, const EngineBlocks& blocks,
                                   Anchors& anchors) {
  std::vector<BoundBlock> bound;
  if (block_size <= 0 || run.prefix.empty()) return bound;
  const Path path = blocks.PathTo(last);
  const size_t most = std::min(path.size(), static_cast<size_t>(run.prompt.value() / block_size));
  if (most == 0) return bound;
  const double bytes = std::max(run.body.AsDouble(), kBlockBytes * static_cast<double>(run.prefix.size()));
  const double blocks_per_byte = run.prompt.AsDouble() / bytes / static_cast<double>(block_size);
  for (size_t i = 0; i < run.prefix.size(); ++i) {
    const double end = std::ceil(kBlockBytes * static_cast<double>(i + 1) * blocks_per_byte);
    const size_t count = std::clamp<size_t>(static_cast<size_t>(end), 1, most);
    BindBlock({run.prefix[i], static_cast<int64_t>(i)}, path, count, blocks, anchors, bound);
  }
  return bound;
}

}  // namespace penstock
