// The common parts of the proxy benchmark's stub and client: non-blocking sockets on loopback, an epoll loop, a clock.
//
// Each program is one thread around epoll_wait and parses as little as it can, so that the proxy between them takes
// most of the time. Not for use outside bench/proxy.
#ifndef PENSTOCK_BENCH_PROXY_WIRE_H_
#define PENSTOCK_BENCH_PROXY_WIRE_H_

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace penstock::proxy_bench {

// Monotonic microseconds.
inline int64_t NowMicros() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1'000;
}

inline void Die(const char* what) {
  std::perror(what);
  std::exit(1);
}

inline sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline void NoDelay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

inline void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

inline void Watch(int epoll, int socket, void* owner) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.ptr = owner;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0) Die("epoll_ctl");
}

// The value of a header in a head, in any case of letters; empty when absent.
inline std::string_view HeaderValue(std::string_view head, std::string_view name) {
  size_t at = head.find("\r\n");
  while (at != std::string_view::npos && at + 2 < head.size()) {
    const size_t next = head.find("\r\n", at + 2);
    std::string_view line = head.substr(at + 2, next - at - 2);
    at = next;
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    size_t same = 0;
    while (same < name.size() && (line[same] | 0x20) == (name[same] | 0x20)) ++same;
    if (same < name.size()) continue;
    line.remove_prefix(name.size() + 1);
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    return line;
  }
  return {};
}

inline int64_t NumberAt(std::string_view text) {
  return std::strtoll(std::string(text.substr(0, 20)).c_str(), nullptr, 10);
}

}  // namespace penstock::proxy_bench

#endif  // PENSTOCK_BENCH_PROXY_WIRE_H_
