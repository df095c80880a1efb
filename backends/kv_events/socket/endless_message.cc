#include "backends/kv_events/socket/endless_message.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

namespace penstock {
namespace {

// Zero: the descriptor is none of a TCP connection.
uint64_t ReceivedBy(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_bytes_received;
}

}  // namespace

void EndlessMessage::Begin(int descriptor) {
  descriptor_ = descriptor;
  before_ = ReceivedBy(descriptor);
  read_ = false;
}

bool EndlessMessage::Found() {
  if (descriptor_ < 0) return false;
  const uint64_t received = ReceivedBy(descriptor_);
  // Fewer: the library closed the descriptor, and another connection has its number.
  if (std::exchange(read_, false) || received < before_) before_ = received;
  return received - before_ > kMost;
}

}  // namespace penstock
