// The heads of a WebSocket's handshake (RFC 6455, section 4): the client's is checked, the engine's is made. Pure.
//
// The keys and extensions are those of client and engine, who agree with each other. Frames are not looked at.
#ifndef PENSTOCK_ROUTER_REALTIME_UPGRADE_H_
#define PENSTOCK_ROUTER_REALTIME_UPGRADE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/headers.h"
#include "router/openai/error/api_error.h"

namespace penstock {

// The fault of a request that should begin a WebSocket. `http10`: by its request line.
std::optional<ApiError> CheckUpgrade(const HeaderList& client, bool http10);

// The API key that a page gives as a protocol, for pages cannot set headers. Empty: there is none.
std::string KeyAmongProtocols(const HeaderList& client);

// Adds the fields of the handshake for an engine. A key among the protocols stays out.
void AddUpgrade(const HeaderList& client, HeaderList& engine);

// The engine's head agrees to a WebSocket.
bool AgreesToUpgrade(absl::string_view upgrade, absl::string_view accept);

// The fields that tell the client of it, beside those of the engine's head that cross the router anyhow.
void AddAgreement(HeaderList& client);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_REALTIME_UPGRADE_H_
