#include "backends/socket/late_push.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace penstock {
namespace {

// Sockets have the option already; setting it again sends what is held back.
void SendHeld(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

void LatePush::PushNow(int socket) {
  const auto removed = std::remove(sockets_.begin(), sockets_.end(), socket);
  if (removed == sockets_.end()) return;
  sockets_.erase(removed, sockets_.end());
  SendHeld(socket);
}

void LatePush::PushAll() {
  for (const int socket : sockets_) SendHeld(socket);
  sockets_.clear();
}

}  // namespace penstock
