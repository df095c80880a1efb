// One loop with the plain core and a watched engine, for sessions with clients that have no socket.
#ifndef PENSTOCK_TESTS_SESSION_SESSION_WORLD_H_
#define PENSTOCK_TESTS_SESSION_SESSION_WORLD_H_

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "router/live/fleet/fleet_monitor.h"
#include "router/session/session.h"
#include "tests/http/test_server.h"
#include "tests/session/memory_client.h"

namespace penstock {

namespace asio = boost::asio;

inline Config ConfigOf(const std::string& url) {
  Config config = *ConfigFromUrls("127.0.0.1:0", {url});
  config.poll.interval = Duration::Milliseconds(50);
  config.replicas[0].engine = "openai";
  return config;
}

// One loop with the plain core and a watched engine; no listener, no connection of a client.
class SessionWorld {
 public:
  explicit SessionWorld(const std::string& url, std::unique_ptr<DecisionLog> log = nullptr)
      : SessionWorld(ConfigOf(url), std::move(log)) {}
  explicit SessionWorld(Config config, std::unique_ptr<DecisionLog> log = nullptr)
      : log_(std::move(log)),
        config_(std::move(config)),
        core_(std::make_unique<PlainCore>(orders), loop_.io(), {&loop_.mailbox()},
              {[this](const Event& event, Instant, const std::vector<Action>&) { book.Record(event); }, nullptr}),
        monitor_(loop_, {&loop_}, config_, [](const ReplicaConfig& replica) { return replica.url; }) {
    edge_.core = &core_;
    edge_.board = &board_;
    edge_.telemetry = &telemetry_;
    edge_.log = log_.get();
    edge_.report = [this](ReplicaId replica, EngineNews news) {
      asio::post(loop_.io(), [this, replica, news] { monitor_.OnNews(replica, news); });
    };
    loop_.PostFleet(monitor_.FirstView(), [] {});
    asio::post(loop_.io(), [this] { monitor_.Start(); });
    loop_.Start();
  }
  ~SessionWorld() { End(); }
  // No thread runs any more. May be called twice.
  void End() {
    if (std::exchange(ended_, true)) return;
    Call([this] {
      monitor_.Stop();
      core_.StopTimer();
    });
    loop_.Stop();
  }

  bool WaitUp() {
    return Eventually([this] {
      for (const ReplicaHealth& health : book.Of<ReplicaHealth>()) {
        if (health.health == Health::kUp) return true;
      }
      return false;
    });
  }
  // Runs a session to its end; the future tells when.
  std::future<void> Begin(Client& client, std::string body, HeaderList headers = {}) {
    auto ended = std::make_shared<std::promise<void>>();
    std::future<void> end = ended->get_future();
    asio::post(loop_.io(), [this, &client, body = std::move(body), headers = std::move(headers), ended] {
      loop_.connections().EnterGuest();
      asio::co_spawn(loop_.io(), Serve(client, body, headers, ended), asio::detached);
    });
    return end;
  }
  bool Run(Client& client, std::string body, HeaderList headers = {}) {
    return Begin(client, std::move(body), std::move(headers)).wait_for(kPatience) == std::future_status::ready;
  }
  void Call(const std::function<void()>& on_loop) {
    std::promise<void> called;
    asio::post(loop_.io(), [&] {
      on_loop();
      called.set_value();
    });
    called.get_future().wait();
  }
  // The core takes the memory of the last request away.
  void Abort() {
    orders.abort_after = 1;
    Progress progress;
    progress.corrections.push_back(StreamTokens{book.Of<FirstToken>().back().request, Tokens(1)});
    core_.Submit(progress);
  }
  EventLoop& loop() { return loop_; }
  Edge& edge() { return edge_; }
  std::string Log() {
    log_->Flush();
    std::ostringstream text;
    text << std::ifstream(log_path).rdbuf();
    return text.str();
  }

  PlainOrders orders;
  EventBook book;
  std::string log_path;
  Endpoint endpoint = Endpoint::kChat;
  const InsideRequest* inside = nullptr;  // Set: the router itself asks.

 private:
  asio::awaitable<void> Serve(Client& client, std::string body, HeaderList headers,
                              std::shared_ptr<std::promise<void>> ended) {
    {
      Session session(loop_, client, SessionRequest{endpoint, &headers, body, "req-1", {}, 0, inside});
      co_await session.Run();
    }
    loop_.connections().LeaveGuest();
    ended->set_value();
  }

  std::unique_ptr<DecisionLog> log_;
  const Config config_;
  Telemetry telemetry_;
  ProgressBoard board_{1};
  Edge edge_;
  EventLoop loop_{0, edge_};
  CoreHost core_;
  FleetMonitor monitor_;
  bool ended_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SESSION_SESSION_WORLD_H_
