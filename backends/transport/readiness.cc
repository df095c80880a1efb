#include "backends/transport/readiness.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>

namespace penstock {
namespace asio = boost::asio;

void TellLeftInput(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_INQ, &on, sizeof(on));
}

size_t ReadNow(int socket, asio::mutable_buffer into, bool& more, boost::system::error_code& error) {
  iovec place{into.data(), into.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  do {
    count = recvmsg(socket, &message, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  more = count > 0;
  if (count < 0) {
    const bool nothing = errno == EAGAIN || errno == EWOULDBLOCK;
    error = nothing ? boost::system::error_code(asio::error::would_block)
                    : boost::system::error_code(errno, boost::system::system_category());
    return 0;
  }
  error = count == 0 ? boost::system::error_code(asio::error::eof) : boost::system::error_code();
  const cmsghdr* left = CMSG_FIRSTHDR(&message);
  if (left != nullptr && left->cmsg_level == SOL_TCP && left->cmsg_type == TCP_CM_INQ) {
    int bytes = 0;
    std::memcpy(&bytes, CMSG_DATA(left), sizeof(bytes));
    more = bytes > 0;
  }
  return static_cast<size_t>(count);
}

}  // namespace penstock
