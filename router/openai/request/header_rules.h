// The headers that cross the router, and the facts that it reads from them. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_HEADER_RULES_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_HEADER_RULES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/dialect/headers.h"
#include "router/openai/error/api_error.h"

namespace penstock {

// Further headers that one engine gets, beside those of every engine.
struct MoreHeaders {
  absl::Span<const absl::string_view> of_engine;  // From the table of its kind, in lower case.
  absl::Span<const std::string> configured;       // relay_headers.
  absl::string_view pseudonym;                    // The router's own for Via; empty: no Via.
  absl::string_view traceparent = {};             // The attempt's own; empty: none. The client's stays out.
  absl::string_view tracestate = {};
};

// The client's headers that an engine gets: content type, accept, user agent, language, other tracing, x-simulated-*
// and `more`. Via says which routers the request passed, this one last. All others stay out: credentials of any vendor,
// ranges, framing, and headers that steer an engine or this router. So do headers that Connection names. `key` is the
// engine's own, empty: none.
HeaderList HeadersForEngine(const HeaderList& client, absl::string_view key, absl::string_view request_id,
                            const MoreHeaders& more);

// True where the request passed the router of that name before, by its Via. An empty name never did.
bool PassedBefore(const HeaderList& client, absl::string_view pseudonym);

// The headers of an engine's answer that a client gets. Left out are hop-by-hop headers (those that Connection names
// too), framing, server identity, request id and advice to retry.
HeaderList HeadersForClient(const HeaderList& engine);

// True for a header that no configuration may relay: framing, hop-by-hop, and the router's own.
bool NeverRelayed(absl::string_view name);

// The client's x-request-id or x-client-request-id if it is sane (1 to 128 visible ASCII characters), else empty.
std::string ClientRequestId(const HeaderList& headers);

// True: two fields have the name, with different values. Nobody knows which one counts. O(fields).
bool Contradicts(const HeaderList& headers, absl::string_view name);
// The refusal of a request whose headers contradict each other at one of these names.
std::optional<ApiError> Contradiction(const HeaderList& headers, absl::Span<const absl::string_view> names);

// The key of `Authorization: Bearer KEY` or `x-api-key`; empty when there is none.
absl::string_view ApiKeyOf(const HeaderList& headers);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_HEADER_RULES_H_
