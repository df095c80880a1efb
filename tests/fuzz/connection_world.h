// One connection of a client to the router's own connection code, on one loop that a fuzzer turns by hand.
//
// The engine answers with the bytes that the fuzzer gives. After each connection, no memory, count or coroutine of it
// is left.
#ifndef PENSTOCK_TESTS_FUZZ_CONNECTION_WORLD_H_
#define PENSTOCK_TESTS_FUZZ_CONNECTION_WORLD_H_

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/http/client_connection.h"
#include "router/http/pages/metrics_desk.h"
#include "router/http/pages/model_desk.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/fleet_publisher.h"
#include "router/live/loop_turn.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/tcp_ends.h"
#include "tests/http/plain_core.h"

namespace penstock::fuzz {

namespace asio = boost::asio;

inline constexpr size_t kLimit = 16 << 10;
inline constexpr int64_t kMemory = 256 << 10;
// A connection that its client has left ends within so many handlers.
inline constexpr int kMostHandlers = 20'000;
// The limits of time, the least that a tick of the loop tells apart. A client that stands still for two ticks meets
// them.
inline constexpr Duration kSoon = DeadlineList::kTick;
inline constexpr int kMostStalls = 2;

inline Config SmallConfig(int port) {
  Config config = *ConfigFromUrls("127.0.0.1:0", {"http://127.0.0.1:" + std::to_string(port)});
  config.replicas[0].model = "m";
  config.replicas[0].engine = "openai";
  for (Duration* limit :
       {&config.limits.header_timeout, &config.limits.body_timeout, &config.limits.idle_timeout,
        &config.limits.write_timeout, &config.limits.first_byte_timeout, &config.limits.gap_timeout}) {
    *limit = kSoon;
  }
  config.limits.max_header = Bytes(2048);
  config.limits.max_body = Bytes(kLimit);
  config.limits.max_streams = 8;
  config.limits.max_body_memory = Bytes(kMemory);
  return config;
}

// One loop without a thread.
class World {
 public:
  World()
      : telemetry_(TelemetryOptions()), core_(std::make_unique<PlainCore>(orders), loop_.io(), {&loop_.mailbox()}, {}) {
    edge.core = &core_;
    edge.board = &board_;
    edge.telemetry = &telemetry_;
    edge.metrics = &metrics_;
    edge.models = &models_;
    edge.report = [](ReplicaId, EngineNews) {};
    loop_.mailbox().OwnThisThread();
    Begin();
    loop_.deadlines().Start();
    while (Turn()) continue;
  }

  // The fleet as every input finds it.
  void Begin() {
    if (!std::exchange(disturbed_, false)) return;
    Reload("m");
    SetHealth(Health::kUp);
    while (Turn()) continue;
  }
  // The only replica has this model from now on, and the loop a new view.
  void Reload(const std::string& model) {
    Config config = SmallConfig(engine.port());
    config.replicas[0].model = model;
    const FleetBook book(config);
    EngineAccess access;
    access.address = UpstreamAddress{"127.0.0.1", static_cast<uint16_t>(engine.port())};
    access.capabilities = EngineOf(EngineKind::kOpenAi).capabilities;
    access.notes = std::make_shared<EngineNotes>();
    access.notes->wants_answers = false;
    loop_.PostFleet(MakeFleetView(book, {access}), [] {});
    core_.Submit(FleetChanged{book.fleet()});
  }
  void SetHealth(Health health) { core_.Submit(ReplicaHealth{ReplicaId(0), health}); }
  // Something happens to the fleet while the client is there.
  void Disturb(uint8_t what) {
    disturbed_ = true;
    switch (what % 6) {
      case 0:
        return Reload("m");
      case 1:
        return Reload("other");
      case 2:
        return loop_.PostLost(ReplicaId(0), EngineLoss::kHung);
      case 3:
        return loop_.PostLost(ReplicaId(0), EngineLoss::kAsleep);
      case 4:
        return SetHealth(Health::kDown);
      default:
        return SetHealth(Health::kUp);
    }
  }

  // Runs one handler. False: none was ready.
  bool Turn() {
    loop_.io().restart();
    return loop_.io().poll_one() > 0;
  }
  // Deadlines of kSoon pass. The loop works meanwhile.
  void Stall() {
    loop_.io().restart();
    loop_.io().run_for(std::chrono::nanoseconds(2 * kSoon.nanoseconds()));
  }
  EventLoop& loop() { return loop_; }

  Engine engine;
  PlainOrders orders;
  Edge edge;

 private:
  Telemetry telemetry_;
  ProgressBoard board_{1};
  EventLoop loop_{0, edge};
  MetricsDesk metrics_{loop_};
  ModelDesk models_{loop_};
  CoreHost core_;
  bool disturbed_ = true;  // The fleet is not that of Begin().
};

inline asio::awaitable<void> Serve(std::shared_ptr<ClientConnection> connection) { co_await connection->Serve(); }

// Both ends of one connection.
class Client {
 public:
  Client(World& world, uint8_t flags) : world_(world) {
    std::array<int, 2> ends{};
    if ((flags & 16) != 0) {
      ends = TcpPair();
    } else {
      const int made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data());
      Expect(made == 0, "sockets are made");
    }
    end_ = ends[0];
    world.edge.connections.fetch_add(1);
    ClientPeer peer;
    if ((flags & 4) != 0) peer.named = std::make_shared<PeerCounts>();
    const auto use = (flags & 1) != 0   ? ClientConnection::Use::kSpare
                     : (flags & 2) != 0 ? ClientConnection::Use::kAdmin
                                        : ClientConnection::Use::kClient;
    auto connection = std::make_shared<ClientConnection>(world.loop(), ends[1], peer, use);
    connection_ = connection;
    asio::co_spawn(world.loop().io(), Serve(std::move(connection)), asio::detached);
  }
  ~Client() {
    Reset();
    world_.engine.EndAll();
    for (int i = 0; i < kMostHandlers && world_.Turn(); ++i) continue;
    Expect(connection_.expired(), "a connection ends when its client has left");
    Expect(world_.edge.connections == 0 && world_.loop().connections().empty(), "no connection is counted");
    Expect(world_.edge.requests == 0, "no request is being answered");
    Expect(world_.edge.bodies.used() == Bytes(0), "no memory of requests is held");
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Send(absl::string_view bytes) {
    if (end_ >= 0) ::send(end_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  // The answers among the bytes that it reads.
  int Read() {
    if (end_ < 0) return 0;
    std::array<char, 64 << 10> place;
    int answers = 0;
    for (ssize_t count = 0; (count = ::recv(end_, place.data(), place.size(), MSG_DONTWAIT)) > 0;) {
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
    Expect(world_.edge.bodies.used() <= Bytes(kMemory), "the memory of requests is bounded");
    // One that was begun before, one for each step, and one that fails.
    if (reading) Expect(Read() <= LoopTurn::kSteps + 2, "a turn of the loop serves a few requests");
    return ran;
  }
  void HalfClose() {
    if (end_ >= 0) ::shutdown(end_, SHUT_WR);
  }
  void Close() {
    if (end_ >= 0) ::close(std::exchange(end_, -1));
  }
  void Reset() {
    if (end_ >= 0) ::Reset(std::exchange(end_, -1));
  }
  void Stall() {
    if (++stalls_ <= kMostStalls) world_.Stall();
  }

 private:
  World& world_;
  int end_ = -1;
  int stalls_ = 0;
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
