// Binds the prompt blocks of a request to the engine blocks that it stored.
//
// The request's bytes and the engine's count of its tokens give the end of each prompt block. A prompt block that
// another request has bound ends, at the latest, where both leave each other. Pure. O(prompt blocks + engine blocks of
// both).
#ifndef PENSTOCK_ROUTER_KV_EVENTS_PROMPT_BINDING_H_
#define PENSTOCK_ROUTER_KV_EVENTS_PROMPT_BINDING_H_

#include <cstdint>
#include <vector>

#include "router/kv_events/anchors.h"
#include "router/kv_events/chain_matcher.h"
#include "router/kv_events/engine_blocks.h"

namespace penstock {

struct BoundBlock {
  PromptBlock block;
  bool stored = false;    // The engine has it. False with `conflict`: nobody knows.
  bool conflict = false;  // It contradicts another binding: neither counts.
};

// The prompt blocks whose binding changed. `last`: the last block of the request's chain; `block_size` in tokens.
std::vector<BoundBlock> BindPrompt(const EngineRun& run, uint64_t last, int64_t block_size, const EngineBlocks& blocks,
                                   Anchors& anchors);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_PROMPT_BINDING_H_
