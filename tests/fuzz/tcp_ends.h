// Ends of connections over TCP on this host, for a fuzzer that plays a client and an engine.
#ifndef PENSTOCK_TESTS_FUZZ_TCP_ENDS_H_
#define PENSTOCK_TESTS_FUZZ_TCP_ENDS_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/fuzz/expect.h"

inline int Listen() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Expect(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "a port is free");
  Expect(::listen(listener, 64) == 0, "it is listened on");
  return listener;
}

inline sockaddr_in AddressOf(int listener) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  Expect(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0, "a listener has an address");
  return address;
}

// Ends with a reset, and so leaves no socket behind that waits.
inline void Reset(int socket) {
  const linger at_once{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  ::close(socket);
}

// The two ends of a connection over TCP.
inline std::array<int, 2> TcpPair() {
  static const int listener = Listen();
  const sockaddr_in address = AddressOf(listener);
  std::array<int, 2> ends{};
  ends[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Expect(::connect(ends[0], reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "a client connects");
  ends[1] = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  Expect(ends[1] >= 0, "it is accepted");
  return ends;
}

// An engine whose answers are acts of the input. Its newest connection gets them.
class Engine {
 public:
  int port() const { return ntohs(AddressOf(listener_).sin_port); }
  void Send(absl::string_view bytes) {
    Accept();
    if (!taken_.empty()) ::send(taken_.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void End(bool reset) {
    Accept();
    if (taken_.empty()) return;
    reset ? Reset(taken_.back()) : static_cast<void>(::close(taken_.back()));
    taken_.pop_back();
  }
  void EndAll() {
    Accept();
    while (!taken_.empty()) End(true);
  }

 private:
  void Accept() {
    for (int next = 0; (next = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) taken_.push_back(next);
  }

  const int listener_ = Listen();
  std::vector<int> taken_;
};

#endif  // PENSTOCK_TESTS_FUZZ_TCP_ENDS_H_
