// The members with text or media that each kind of block may have in a chat. Any other would be lost. Pure.
#ifndef PENSTOCK_ROUTER_ANTHROPIC_STRAY_PART_H_
#define PENSTOCK_ROUTER_ANTHROPIC_STRAY_PART_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "router/anthropic/turn_fields.h"

namespace penstock::anthropic {

// The first member of the block that does not belong to this kind. None for a kind that no chat has.
std::optional<Part> StrayPart(absl::string_view kind, const Block& block);

}  // namespace penstock::anthropic

#endif  // PENSTOCK_ROUTER_ANTHROPIC_STRAY_PART_H_
