// A client may do anything with its connection, at any time. It sends requests and nonsense in pieces, stops to read,
// stands still, and leaves half, whole or with a reset. An engine may answer with any bytes, and break off. The bytes
// are a list of such acts. They meet the router's own connection code, on one loop that this file turns by hand. After
// each connection, no memory, count or coroutine of it is left. One turn of the loop serves a few requests of one
// client at most.
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

namespace {

namespace asio = boost::asio;
using penstock::ClientConnection;

constexpr size_t kLimit = 16 << 10;
constexpr int64_t kMemory = 256 << 10;
// A connection that its client has left ends within so many handlers.
constexpr int kMostHandlers = 20'000;
// The limits of time, the least that a tick of the loop tells apart. A client that stands still for two ticks meets
// them.
constexpr penstock::Duration kSoon = penstock::DeadlineList::kTick;
constexpr int kMostStalls = 2;

penstock::Config SmallConfig(int port) {
  penstock::Config config = *penstock::ConfigFromUrls("127.0.0.1:0", {"http://127.0.0.1:" + std::to_string(port)});
  config.replicas[0].model = "m";
  config.replicas[0].engine = "openai";
  for (penstock::Duration* limit :
       {&config.limits.header_timeout, &config.limits.body_timeout, &config.limits.idle_timeout,
        &config.limits.write_timeout, &config.limits.first_byte_timeout, &config.limits.gap_timeout}) {
    *limit = kSoon;
  }
  config.limits.max_header = penstock::Bytes(2048);
  config.limits.max_body = penstock::Bytes(kLimit);
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
    edge.models = &models_;
    edge.report = [](penstock::ReplicaId, penstock::EngineNews) {};
    loop_.mailbox().OwnThisThread();
    const penstock::FleetBook book(SmallConfig(engine.port()));
    penstock::EngineAccess access;
    access.address = penstock::UpstreamAddress{"127.0.0.1", static_cast<uint16_t>(engine.port())};
    access.capabilities = penstock::EngineOf(penstock::EngineKind::kOpenAi).capabilities;
    access.wants_answers = std::make_shared<std::atomic<bool>>(false);
    loop_.PostFleet(penstock::MakeFleetView(book, {access}), [] {});
    core_.Submit(penstock::FleetChanged{book.fleet()});
    core_.Submit(penstock::ReplicaHealth{penstock::ReplicaId(0), penstock::Health::kUp});
    loop_.deadlines().Start();
    while (Turn()) continue;
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
  penstock::EventLoop& loop() { return loop_; }

  Engine engine;
  penstock::PlainOrders orders;
  penstock::Edge edge;

 private:
  penstock::Telemetry telemetry_;
  penstock::ProgressBoard board_{1};
  penstock::EventLoop loop_{0, edge};
  penstock::MetricsDesk metrics_{loop_};
  penstock::ModelDesk models_{loop_};
  penstock::CoreHost core_;
};

asio::awaitable<void> Serve(std::shared_ptr<ClientConnection> connection) { co_await connection->Serve(); }

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
    Reset();
    world_.engine.EndAll();
    for (int i = 0; i < kMostHandlers && world_.Turn(); ++i) continue;
    Expect(connection_.expired(), "a connection ends when its client has left");
    Expect(world_.edge.connections == 0 && world_.loop().connections().empty(), "no connection is counted");
    Expect(world_.edge.requests == 0, "no request is being answered");
    Expect(world_.edge.bodies.used() == penstock::Bytes(0), "no memory of requests is held");
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

// An engine ends its connection, or sends bytes, at times behind the beginning of a sound answer.
void ActOfEngine(Engine& engine, Script& script) {
  constexpr absl::string_view kStream =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  switch (script.Byte() % 4) {
    case 0:
      return engine.End(script.Byte() % 2 == 0);
    case 1:
      engine.Send(kStream);
      [[fallthrough]];
    default:
      return engine.Send(script.Some(1 + size_t{script.Byte()}));
  }
}

void Leave(Client& client, Script& script) {
  switch (script.Byte() % 4) {
    case 0:
      return client.Close();
    case 1:
      return client.Reset();
    default:
      return client.HalfClose();
  }
}

void Act(World& world, Client& client, Script& script, bool& reading) {
  switch (script.Byte() % 10) {
    case 0:
    case 1:
      return client.Send(script.Some(1 + size_t{script.Byte()}));
    case 2:
      return client.Send(script.Some(16 * (1 + size_t{script.Byte()})));
    case 3: {
      const std::string repeated(script.Some(1 + size_t{script.Byte()} % 64));
      for (int i = 0; i < 64; ++i) client.Send(repeated);
      return;
    }
    case 4:
      while (client.Turn(reading)) continue;
      return;
    case 5:
      client.Turn(reading);
      return;
    case 6:
      reading = !reading;
      return;
    case 7:
      return Leave(client, script);
    case 8:
      return ActOfEngine(world.engine, script);
    default:
      if (script.Byte() % 4 == 0) client.Stall();
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static World& world = *new World();
  Script script(absl::string_view(reinterpret_cast<const char*>(data), size));
  const uint8_t flags = script.Byte();
  world.orders.hold = (flags & 8) != 0;
  Client client(world, flags);
  bool reading = true;
  while (!script.over()) Act(world, client, script, reading);
  return 0;
}
