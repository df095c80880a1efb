// The line of the log about an error of one connection, with its address.
#ifndef PENSTOCK_ROUTER_HTTP_EXCHANGE_PEER_ERROR_H_
#define PENSTOCK_ROUTER_HTTP_EXCHANGE_PEER_ERROR_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "router/http/peer/client_peer.h"
#include "router/live/event_loop.h"
#include "router/telemetry/log/decision_log.h"

namespace penstock {

// `suppressed`: the lines about the same reason that were left out before it.
inline void LogPeerError(const Edge& edge, const ClientPeer& peer, absl::string_view reason, absl::string_view message,
                         int64_t suppressed = 0) {
  if (edge.log == nullptr) return;
  DecisionEntry entry;
  entry.kind = DecisionEntry::Kind::kError;
  if (peer.known()) entry.client = peer.address.to_string();
  entry.reason = std::string(reason);
  entry.message = std::string(message);
  entry.suppressed = suppressed;
  edge.log->Write(std::move(entry));
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_EXCHANGE_PEER_ERROR_H_
