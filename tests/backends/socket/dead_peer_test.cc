#include "backends/socket/dead_peer.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace penstock {
namespace {

int Option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(socket, level, name, &value, &size) == 0 ? value : -1;
}

TEST(DeadPeer, ASilentConnectionIsProbedAndFailsWithinTheLimit) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(socket, 0);
  DetectDeadPeer(socket, Duration::Seconds(60));
  EXPECT_EQ(Option(socket, SOL_SOCKET, SO_KEEPALIVE), 1);
  const int idle = Option(socket, IPPROTO_TCP, TCP_KEEPIDLE);
  const int between = Option(socket, IPPROTO_TCP, TCP_KEEPINTVL);
  const int probes = Option(socket, IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_EQ(idle + between * probes, 60);
  EXPECT_EQ(Option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 60'000);
  // The kernel counts in whole seconds: a shorter limit is rounded up, never off.
  DetectDeadPeer(socket, Duration::Milliseconds(10));
  EXPECT_EQ(Option(socket, IPPROTO_TCP, TCP_KEEPIDLE), 1);
  EXPECT_EQ(Option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 4'000);
  close(socket);
}

}  // namespace
}  // namespace penstock
