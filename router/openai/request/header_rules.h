// The headers that cross the router, and the facts that it reads from them. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_HEADER_RULES_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_HEADER_RULES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/headers.h"

namespace penstock {

// The first value of a header, case-insensitive; empty when absent.
absl::string_view FindHeader(const HeaderList& headers, absl::string_view name);

// The client's headers that an engine gets. Hop-by-hop headers (those that Connection names too), credentials and
// framing stay out. So do headers that steer an engine (X-data-parallel-rank, X-Vllm-Priority, X-Conversation-Id) or
// this router (x-penstock-*). `key` is the engine's own, empty: none.
HeaderList HeadersForEngine(const HeaderList& client, absl::string_view key, absl::string_view request_id);

// An engine's headers that the client gets: all but hop-by-hop, framing, server identity and request id.
bool RelayedToClient(absl::string_view name);

// The client's x-request-id or x-client-request-id if it is sane (1 to 128 visible ASCII characters), else empty.
std::string ClientRequestId(const HeaderList& headers);

// The key of `Authorization: Bearer KEY` or `x-api-key`; empty when there is none.
absl::string_view ApiKeyOf(const HeaderList& headers);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_HEADER_RULES_H_
