// The heads of a WebSocket's handshake (RFC 6455, section 4): the client's is checked, the engine's is made. Pure.
//
// Key, subprotocol and extensions are those of client and engine: the engine's answer must fit what the client offered.
// Frames are not looked at.
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

// The engine's head agrees to the WebSocket that AddUpgrade() asked for: it accepts that key, and chooses no
// subprotocol and no extension that nobody offered. Costs one SHA-1.
bool AgreesToUpgrade(const HeaderList& asked, const HeaderList& answer);

// The fields that tell the client of it, beside those of the engine's head that cross the router anyhow.
void AddAgreement(HeaderList& client);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_REALTIME_UPGRADE_H_
