// Finds connections whose other side is gone without a word: a host that lost power, a network that swallows packets.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_DEAD_PEER_H_
#define PENSTOCK_BACKENDS_TRANSPORT_DEAD_PEER_H_

#include "base/units.h"

namespace penstock {

// An idle connection is probed from a quarter of `limit` on, and fails once nothing was heard for `limit`; so does one
// whose sent bytes are not acknowledged for that long. The kernel does it: no cost per byte here.
void DetectDeadPeer(int socket, Duration limit);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_DEAD_PEER_H_
