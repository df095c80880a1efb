// One connection of a client to the router's own connection code, on one loop that a fuzzer turns by hand.
//
// No engine is up. After each connection, no memory, count or coroutine of it is left.
#ifndef PENSTOCK_TESTS_FUZZ_CONNECTION_WORLD_H_
#define PENSTOCK_TESTS_FUZZ_CONNECTION_WORLD_H_

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "router/http/client_connection.h"
#include "router/http/pages/metrics_desk.h"
#include "router/live/event_loop.h"
#include "router/live/loop_turn.h"
#include "tests/fuzz/expect.h"
#include "tests/http/plain_core.h"

namespace penstock::fuzz {

namespace asio = boost::asio;
using penstock::ClientConnection;

inline constexpr size_t kLimit = 16 << 10;
inline constexpr int64_t kMemory = 256 << 10;
// A connection that its client has left ends within so many handlers.
inline constexpr int kMostHandlers = 20'000;

inline penstock::Config SmallConfig() {
  penstock::Config config = *penstock::ConfigFromUrls("127.0.0.1:0", {"http://127.0.0.1:9"});
  config.replicas[0].model = "m";
  config.limits.max_header = penstock::Bytes(2048);
  config.limits.max_body = penstock::Bytes(kLimit);
  config.limits.max_streams = 8;
  config.limits.max_body_memory = penstock::Bytes(kMemory);
  return config;
}

// One loop without a thread.
class World {
 public:
  World()
      : telemetry_(penstock::TelemetryOptions()),
        core_(std::make_unique<penstock::PlainCore>(orders), loop_.io(), {&loop_.mailbox()}, {}) {
    edge.core = &core_;
    edge.board = &board_;
    edge.telemetry = &telemetry_;
    edge.metrics = &metrics_;
    loop_.mailbox().OwnThisThread();
    loop_.PostFleet(std::make_shared<const penstock::FleetView>(penstock::FleetBook(SmallConfig())), [] {});
    while (Turn()) continue;
  }

  // Runs one handler. False: none was ready.
  bool Turn() {
    loop_.io().restart();
    return loop_.io().poll_one() > 0;
  }
  penstock::EventLoop& loop() { return loop_; }

  penstock::PlainOrders orders;
  penstock::Edge edge;

 private:
  penstock::Telemetry telemetry_;
  penstock::ProgressBoard board_{1};
  penstock::EventLoop loop_{0, edge};
  penstock::MetricsDesk metrics_{loop_};
  penstock::CoreHost core_;
};

inline asio::awaitable<void> Serve(std::shared_ptr<ClientConnection> connection) { co_await connection->Serve(); }

// Both ends of one connection.
class Client {
 public:
  Client(World& world, uint8_t flags) : world_(world) {
    std::array<int, 2> ends{};
    Expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0, "sockets are made");
    end_ = ends[0];
    world.edge.connections.fetch_add(1);
    penstock::ClientPeer peer;
    if ((flags & 4) != 0) peer.named = std::make_shared<penstock::PeerCounts>();
    const auto use = (flags & 1) != 0   ? ClientConnection::Use::kSpare
                     : (flags & 2) != 0 ? ClientConnection::Use::kAdmin
                                        : ClientConnection::Use::kClient;
    auto connection = std::make_shared<ClientConnection>(world.loop(), ends[1], peer, use);
    connection_ = connection;
    asio::co_spawn(world.loop().io(), Serve(std::move(connection)), asio::detached);
  }
  ~Client() {
    Close();
    for (int i = 0; i < kMostHandlers && world_.Turn(); ++i) continue;
    Expect(connection_.expired(), "a connection ends when its client has left");
    Expect(world_.edge.connections == 0 && world_.loop().connections().empty(), "no connection is counted");
    Expect(world_.edge.requests == 0, "no request is being answered");
    Expect(world_.edge.bodies.used() == penstock::Bytes(0), "no memory of requests is held");
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Send(absl::string_view bytes) {
    if (end_ >= 0) ::send(end_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // The answers among the bytes that it reads.
  int Read() {
    if (end_ < 0) return 0;
    std::array<char, 64 << 10> place;
    int answers = 0;
    for (ssize_t count = 0; (count = ::recv(end_, place.data(), place.size(), 0)) > 0;) {
      const absl::string_view bytes(place.data(), static_cast<size_t>(count));
      constexpr absl::string_view kMark = "\r\nx-request-id: ";
      for (size_t at = bytes.find(kMark); at != absl::string_view::npos; at = bytes.find(kMark, at + 1)) ++answers;
    }
    return answers;
  }
  // Runs one handler. A client that reads sees how many answers it wrote.
  bool Turn(bool reading) {
    if (reading) Read();
    const bool ran = world_.Turn();
    Expect(world_.edge.bodies.used() <= penstock::Bytes(kMemory), "the memory of requests is bounded");
    // One that was begun before, one for each step, and one that fails.
    if (reading) Expect(Read() <= penstock::LoopTurn::kSteps + 2, "a turn of the loop serves a few requests");
    return ran;
  }
  void HalfClose() {
    if (end_ >= 0) ::shutdown(end_, SHUT_WR);
  }
  void Close() {
    if (end_ >= 0) ::close(std::exchange(end_, -1));
  }

 private:
  World& world_;
  int end_ = -1;
  std::weak_ptr<ClientConnection> connection_;
};

// Takes the acts one by one.
class Script {
 public:
  explicit Script(absl::string_view bytes) : left_(bytes) {}

  bool over() const { return left_.empty(); }
  uint8_t Byte() {
    const uint8_t byte = over() ? 0 : static_cast<uint8_t>(left_.front());
    left_.remove_prefix(std::min<size_t>(1, left_.size()));
    return byte;
  }
  absl::string_view Some(size_t size) {
    const absl::string_view some = left_.substr(0, size);
    left_.remove_prefix(some.size());
    return some;
  }

 private:
  absl::string_view left_;
};

}  // namespace penstock::fuzz

#endif  // PENSTOCK_TESTS_FUZZ_CONNECTION_WORLD_H_
