// The ids of responses that engines keep. An id names the replica that keeps the response, by its name and by its
// address, and is sealed for a tenant.
//
// Penstock chooses the id and asks the engine to use it. So any router of the fleet finds the replica, also after a
// restart, and no table of ids can grow. The seal is a digest of the id's other parts and the tenant. A client cannot
// choose the id under which an engine keeps a response, so it cannot make one that is another tenant's and its own. An
// id has no meaning for a tenant other than its own. Form: "resp_" and 48 hexadecimal digits: 8 random bytes, 4 of the
// address and 4 of the name as digests, 8 of the seal. Pure but for the random bytes; any thread; about 1 us.
#ifndef PENSTOCK_ROUTER_RESPONSES_RESPONSE_ID_H_
#define PENSTOCK_ROUTER_RESPONSES_RESPONSE_ID_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/ids.h"

namespace penstock {

// The digest of a replica's name in an id.
using NameMark = Id<struct NameMarkTag, uint32_t>;
// The digest of an engine's address in an id.
using AddressMark = Id<struct AddressMarkTag, uint32_t>;
struct ReplicaMarks {
  NameMark name;
  AddressMark address;
  bool operator==(const ReplicaMarks&) const = default;
};
ReplicaMarks MarksOf(absl::string_view name, absl::string_view address);

std::string NewResponseId(const ReplicaMarks& replica, TenantId tenant);

// The text has the form of an id, whoever made it.
bool IsResponseId(absl::string_view text);
// The replica of an id that was made for this tenant; none: the text is anything else.
std::optional<ReplicaMarks> ReplicaIn(absl::string_view id, TenantId tenant);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_RESPONSES_RESPONSE_ID_H_
