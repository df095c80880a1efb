// Detects a peer that is gone without a packet: a host without power, or a network that drops packets.
#ifndef PENSTOCK_BACKENDS_SOCKET_DEAD_PEER_H_
#define PENSTOCK_BACKENDS_SOCKET_DEAD_PEER_H_

#include "base/units.h"

namespace penstock {

// The kernel probes an idle connection after a quarter of `limit`. The connection fails after `limit` without a packet
// from the peer, and after `limit` without an acknowledgement of sent bytes. No cost per byte.
void DetectDeadPeer(int socket, Duration limit);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_DEAD_PEER_H_
