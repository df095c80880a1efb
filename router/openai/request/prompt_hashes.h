// Hashes that tell the core which requests have something in common.
//
// Names of leading blocks tell which engine has most of a prompt cached.
// A prompt, as it stands in the body, is cut into blocks of kPrefixBlock tokens' byte equivalent (four bytes each).
// Each block's hash is chained to the one before: equal hash, equal bytes up to there. Tools and other fields that an
// engine's template may put before the prompt are not part of it. A hit is an expectation that saves time, never a
// promise.
//
// A shape tells requests of one program from others: they have a system prompt, tools and formats in common, and mostly
// similar output lengths.
//
// A session is the name that a client gives its conversation: a hint for the replica that has its context cached, never
// a rule. The header x-session-id counts first, then `prompt_cache_key`, then `metadata.user_id` of messages, then
// `user`. Values of another type, or too long, are no hints and no errors: the engine judges them. `cache_control`
// names nothing, so it passes unread.
//
// Pure; each costs one pass over its bytes at memory speed. Blocks cost nothing below one block.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_HASHES_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_HASHES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "router/core/contract/event.h"
#include "router/openai/request/request_fields.h"

namespace penstock {

// Blocks named at most: 128k tokens. What follows counts as not cached.
inline constexpr size_t kMostPrefixBlocks = 256;
// Bytes of a block, four for a token, and of all that are named.
inline constexpr size_t kNamedBytes = static_cast<size_t>(kPrefixBlock.value()) * 4;
inline constexpr size_t kMostNamedBytes = kMostPrefixBlocks * kNamedBytes;

// `prompt` is the value of `messages` or `prompt`. The name of the model is part of every name: its id may be given to
// another.
std::vector<uint64_t> PrefixHashes(std::string_view prompt, std::string_view model);

// Bytes of one part of a shape that count at most, and of the messages that are searched for a system prompt.
inline constexpr size_t kMostShapeBytes = 16 << 10;

// A hash of the message that begins a chat, if it is of the system or developer. Instructions, `system`, tools and the
// fields that bind the answer's form count too. 0: the request has none of them.
uint64_t ShapeHash(const RequestFields& fields);

// Longer names of a session are no hints.
inline constexpr size_t kMostHintBytes = 1024;

// The name of the session in the body; empty: it has none.
std::string SessionName(Endpoint endpoint, const RequestFields& fields);
// RequestArrived::session, keyed by the tenant: equal names of two tenants are two sessions. The model is part of it.
uint64_t SessionKey(absl::string_view header, absl::string_view in_body, TenantId tenant, ModelId model);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_HASHES_H_
