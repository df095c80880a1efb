#include "backends/socket/dead_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace penstock {

void DetectDeadPeer(int socket, Duration limit) {
  const auto set = [socket](int level, int name, int value) { setsockopt(socket, level, name, &value, sizeof(value)); };
  const int milliseconds = static_cast<int>(std::clamp<int64_t>(limit.nanoseconds() / 1'000'000, 4'000, 86'400'000));
  const int quarter = milliseconds / 4'000;
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, quarter);
  set(IPPROTO_TCP, TCP_KEEPINTVL, quarter);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
}

}  // namespace penstock
