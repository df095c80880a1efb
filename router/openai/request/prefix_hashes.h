// Names for the leading blocks of a prompt, so that the core can tell which engine has most of it cached.
//
// A prompt, as it stands in the body, is cut into blocks of kPrefixBlock tokens' byte equivalent (four bytes each).
// Each block's hash is chained to the one before: equal hash, equal bytes up to there. Tools and other fields that an
// engine's template may put before the prompt are not part of it. A hit is an expectation that saves time, never a
// promise. Pure; costs one pass over the bytes at memory speed, nothing below one block.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_PREFIX_HASHES_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_PREFIX_HASHES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace penstock {

// Blocks named at most: 128k tokens. What follows counts as not cached.
inline constexpr size_t kMostPrefixBlocks = 256;

// `prompt` is the value of `messages` or `prompt`. The model is part of every name.
std::vector<uint64_t> PrefixHashes(std::string_view prompt, ModelId model);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_PREFIX_HASHES_H_
