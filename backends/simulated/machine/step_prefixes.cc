// The prefix cache of the step machine.
#include "backends/simulated/machine/cache_change.h"
#include "backends/simulated/machine/step_machine.h"

namespace penstock::simulated {

void StepMachine::CacheFullBlocks(State& state, int64_t from, int64_t to) {
  const int64_t block = limits_.block.value();
  if (from / block == to / block) return;
  for (int64_t i = from / block; i < to / block; ++i) {
    const bool shared = i < static_cast<int64_t>(state.request.prefix_blocks.size());
    const bool is_new = shared ? pool_.Publish(state.blocks[i], state.request.prefix_blocks[i])
                               : pool_.Tag(state.blocks[i], PrivateTag(state.serial, i));
    if (!is_new) continue;
    if (pool_.journal() != nullptr) {
      CacheChange& stored = pool_.journal()->emplace_back();
      stored.block = NameOfBlock(state.request.prefix_blocks, state.serial, i);
      if (i > 0) stored.parent = NameOfBlock(state.request.prefix_blocks, state.serial, i - 1);
      stored.session = state.request.session;
    }
    if (shared) host_.Store(state.request.prefix_blocks[i]);
  }
}

void StepMachine::FindCached(const State& state, std::vector<BlockIndex>& found) const {
  if (!limits_.prefix_cache) return;
  const int64_t most = (state.tokens - 1) / limits_.block.value();
  const auto published = static_cast<int64_t>(state.request.prefix_blocks.size());
  const auto lost = static_cast<int64_t>(state.lost.size());
  for (int64_t i = 0; i < most; ++i) {
    if (i < published) {
      const auto block = pool_.Find(state.request.prefix_blocks[i]);
      if (!block) return;
      found.push_back(*block);
    } else {
      if (i >= lost || !pool_.Holds(state.lost[i], PrivateTag(state.serial, i))) return;
      found.push_back(state.lost[i]);
    }
  }
}

}  // namespace penstock::simulated
