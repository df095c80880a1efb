// The ids of responses that engines keep. An id names the replica that keeps the response, and is sealed for a tenant.
//
// Penstock chooses the id and asks the engine to use it. So any router of the fleet finds the replica, also after a
// restart, and no table of ids can grow. The seal is a digest of the id's other parts and the tenant. A client cannot
// choose the id under which an engine keeps a response, so it cannot make one that is another tenant's and its own. An
// id has no meaning for a tenant other than its own. Form: "resp_" and 48 hexadecimal digits: 12 random bytes, 4 of the
// replica's name as a digest, 8 of the seal. Pure but for the random bytes; any thread; about 1 us.
#ifndef PENSTOCK_ROUTER_RESPONSES_RESPONSE_ID_H_
#define PENSTOCK_ROUTER_RESPONSES_RESPONSE_ID_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/ids.h"

namespace penstock {

// The digest of a replica's name in an id.
using ReplicaMark = Id<struct ReplicaMarkTag, uint32_t>;
ReplicaMark MarkOf(absl::string_view replica);

std::string NewResponseId(absl::string_view replica, TenantId tenant);

// The text has the form of an id, whoever made it.
bool IsResponseId(absl::string_view text);
// The replica of an id that was made for this tenant; none: the text is anything else.
std::optional<ReplicaMark> ReplicaIn(absl::string_view id, TenantId tenant);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_RESPONSES_RESPONSE_ID_H_
