// The prefix cache of the step machine.
#include "backends/simulated/machine/step_machine.h"

namespace penstock::simulated {
namespace {

// The tag of private content: the serial of its owner and the position of the block.
uint64_t PrivateTag(uint64_t serial, int64_t index) { return serial << 24 | static_cast<uint64_t>(index); }

}  // namespace

void StepMachine::CacheFullBlocks(State& state, int64_t from, int64_t to) {
  const int64_t block = limits_.block.value();
  if (from / block == to / block) return;
  for (int64_t i = from / block; i < to / block; ++i) {
    if (i < static_cast<int64_t>(state.request.prefix_blocks.size())) {
      pool_.Publish(state.blocks[i], state.request.prefix_blocks[i]);
    } else {
      pool_.Tag(state.blocks[i], PrivateTag(state.serial, i));
    }
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
