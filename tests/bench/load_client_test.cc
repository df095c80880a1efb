#include "bench/load/load_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace penstock::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct Seen {
  std::string head;
  std::string body;
  int connection = 0;
  bool Has(const std::string& text) const { return head.find(text) != std::string::npos; }
};

// Answers each request on 127.0.0.1 with the bytes its script returns; "" closes the connection. One thread per
// connection.
class ScriptedServer {
 public:
  using Script = std::function<std::string(const Seen&)>;
  explicit ScriptedServer(Script script)
      : script_(std::move(script)), acceptor_(loop_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    accepting_ = std::thread([this] { Accept(); });
  }
  ~ScriptedServer() {
    closing_ = true;
    boost::system::error_code ignored;
    tcp::socket wake(loop_);
    wake.connect(acceptor_.local_endpoint(), ignored);
    accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (auto& socket : sockets_) socket->shutdown(tcp::socket::shutdown_both, ignored);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  LoadTarget Target() const {
    return *ParseLoadTarget("http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()));
  }
  std::vector<Seen> Requests() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  void Accept() {
    for (int connection = 1;; ++connection) {
      auto socket = std::make_shared<tcp::socket>(loop_);
      acceptor_.accept(*socket);
      if (closing_) return;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket, connection] { Serve(*socket, connection); });
    }
  }
  void Serve(tcp::socket& socket, int connection) {
    std::string buffer;
    boost::system::error_code error;
    while (true) {
      const size_t head_size = asio::read_until(socket, asio::dynamic_buffer(buffer), "\r\n\r\n", error);
      if (error) return;
      Seen seen{buffer.substr(0, head_size), "", connection};
      size_t length = 0;
      const size_t at = seen.head.find("Content-Length: ");
      if (at != std::string::npos) length = std::stoul(seen.head.substr(at + 16));
      if (buffer.size() < head_size + length) {
        asio::read(socket, asio::dynamic_buffer(buffer), asio::transfer_exactly(head_size + length - buffer.size()),
                   error);
        if (error) return;
      }
      seen.body = buffer.substr(head_size, length);
      buffer.erase(0, head_size + length);
      const std::string answer = script_(seen);
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(seen);
      }
      if (!answer.empty()) asio::write(socket, asio::buffer(answer), error);
      if (answer.empty() || error) {
        socket.shutdown(tcp::socket::shutdown_both, error);
        return;
      }
    }
  }

  Script script_;
  asio::io_context loop_;
  tcp::acceptor acceptor_;
  std::atomic<bool> closing_{false};
  std::mutex mutex_;
  std::vector<Seen> seen_;
  std::vector<std::shared_ptr<tcp::socket>> sockets_;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

std::string Chunked(const std::vector<std::string>& pieces) {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& piece : pieces) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    text += size + piece + "\r\n";
  }
  return text + "0\r\n\r\n";
}

std::string TokenEvent(const std::string& text) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text + "\"},\"finish_reason\":null}]}\n\n";
}

const char kStop[] = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

std::string Json(int status, const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Metrics are not there, models are; chats are answered by `chat`.
ScriptedServer::Script WithChat(std::function<std::string(const Seen&)> chat) {
  return [chat = std::move(chat)](const Seen& seen) {
    if (seen.Has("GET /metrics")) return Json(404, "{}");
    if (seen.Has("GET /v1/models")) return Json(200, R"({"object":"list","data":[{"id":"served-model"}]})");
    return chat(seen);
  };
}

Trace Requests(int count, double gap_s = 0.005) {
  Trace trace;
  for (int i = 0; i < count; ++i) {
    TraceRequest request;
    request.arrival = Duration::Seconds(i * gap_s);
    request.tenant = "team";
    request.prompt = Tokens(50);
    request.output = Tokens(7 + i);
    trace.requests.push_back(request);
  }
  trace.length = Duration::Seconds(1);
  return trace;
}

LoadClientOptions To(const ScriptedServer& server) {
  LoadClientOptions options;
  options.targets = {server.Target()};
  options.model = "m";
  options.drain = Duration::Seconds(20);
  return options;
}

LoadOutcome Load(const Trace& trace, const LoadClientOptions& options) {
  const auto outcome = RunLoadClient(trace, options);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *outcome : LoadOutcome{};
}

TEST(LoadClient, TokensAreCountedFromTheStream) {
  ScriptedServer server(WithChat([](const Seen&) {
    return Chunked({TokenEvent(""), TokenEvent("a"), TokenEvent("b") + TokenEvent("c"), kStop});
  }));

  const LoadOutcome outcome = Load(Requests(3), To(server));

  ASSERT_EQ(outcome.records.size(), 3u);
  for (const RequestRecord& record : outcome.records) {
    EXPECT_EQ(record.fate, Fate::kFinished) << record.reason;
    EXPECT_EQ(record.tokens.tokens(), 3);
    EXPECT_TRUE(record.OnTime());
    EXPECT_EQ(record.tenant, "team");
    EXPECT_EQ(record.service_class, "standard");
  }
  EXPECT_EQ(outcome.preemptions, std::nullopt);
}

TEST(LoadClient, ARequestCarriesWhatTheTraceSays) {
  ScriptedServer server(WithChat([](const Seen&) { return Chunked({TokenEvent("a"), kStop}); }));

  Load(Requests(1), To(server));

  Seen chat;
  for (const Seen& seen : server.Requests()) {
    if (seen.Has("POST ")) chat = seen;
  }
  EXPECT_TRUE(chat.Has("POST /v1/chat/completions HTTP/1.1"));
  EXPECT_TRUE(chat.Has("x-simulated-output-tokens: 7\r\n"));
  EXPECT_TRUE(chat.Has("Authorization: Bearer team\r\n"));
  EXPECT_THAT(chat.body, HasSubstr(R"("model":"m")"));
  EXPECT_THAT(chat.body, HasSubstr(R"("stream":true)"));
}

TEST(LoadClient, TheRoutersReceiptTellsReplicaAndQueueWait) {
  ScriptedServer server(WithChat([](const Seen& seen) {
    EXPECT_TRUE(seen.Has("x-penstock-receipt: 1\r\n"));
    std::string answer = Chunked({TokenEvent("a"), kStop});
    return answer.insert(answer.find("Content-Type"),
                         "x-penstock-receipt: {\"replica\":\"chat-a\",\"waited_ms\":12.5}\r\n");
  }));

  const LoadOutcome outcome = Load(Requests(1), To(server));

  EXPECT_EQ(outcome.records[0].replica, "chat-a");
  EXPECT_EQ(outcome.records[0].queue_wait, Duration::Milliseconds(12) + Duration::Microseconds(500));
}

TEST(LoadClient, AnUnnamedModelIsTheFirstThatTheTargetServes) {
  ScriptedServer server(WithChat([](const Seen& seen) {
    return seen.body.find("served-model") == std::string::npos ? Json(404, "{}") : Chunked({TokenEvent("a"), kStop});
  }));
  LoadClientOptions options = To(server);
  options.model.clear();

  const LoadOutcome outcome = Load(Requests(1), options);

  EXPECT_EQ(outcome.records[0].fate, Fate::kFinished) << outcome.records[0].reason;
  EXPECT_EQ(outcome.records[0].model, "served-model");
}

TEST(LoadClient, RefusalsAreKnownByHeaderCodeOrStatus) {
  std::atomic<int> count{0};
  ScriptedServer server(WithChat([&](const Seen&) -> std::string {
    switch (count++) {
      case 0:
        return Json(429, R"({"error":{"message":"x","code":"rate_limit_exceeded"}})",
                    "x-penstock-reason: deadline\r\n");
      case 1:
        return Json(503, R"({"error":{"message":"x","code":"service_unavailable"}})");
      case 2:
        return Json(429, "busy");
      default:
        return Chunked({R"(data: {"error":{"message":"late","code":"rate_limit_exceeded"}})"
                        "\n\n"});
    }
  }));

  const LoadOutcome outcome = Load(Requests(4, 0.05), To(server));

  const Results results = Summarise(outcome.records, Duration::Seconds(1));
  EXPECT_EQ(results.RefusedCount(), 4);
  EXPECT_THAT(results.refused, ElementsAre(Pair("deadline", 1), Pair("http_429", 1), Pair("rate_limit_exceeded", 1),
                                           Pair("service_unavailable", 1)));
}

TEST(LoadClient, FailuresKeepTheirMessage) {
  std::atomic<int> count{0};
  ScriptedServer server(WithChat([&](const Seen&) -> std::string {
    switch (count++) {
      case 0:
        return Json(500, R"({"error":{"message":"Context size has been exceeded."}})");
      case 1:
        return Chunked({TokenEvent("a"), "data: {\"error\":{\"message\":\"Context size has been exceeded.\"}}\n\n"});
      case 2:
        return "this is not HTTP\r\n\r\n";
      default:
        return Chunked({TokenEvent("a")});
    }
  }));

  const LoadOutcome outcome = Load(Requests(4, 0.05), To(server));

  for (const RequestRecord& record : outcome.records) EXPECT_EQ(record.fate, Fate::kFailed);
  EXPECT_THAT(outcome.records[0].reason, HasSubstr("http_500: Context size has been exceeded."));
  EXPECT_THAT(outcome.records[1].reason, HasSubstr("stream error: Context size has been exceeded."));
  EXPECT_THAT(outcome.records[2].reason, HasSubstr("connection: not HTTP"));
  EXPECT_EQ(outcome.records[3].reason, "stream without finish_reason");
}

TEST(LoadClient, ABrokenStreamIsAFailure) {
  ScriptedServer server(WithChat([](const Seen&) {
    return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n" +
           TokenEvent("a");
  }));
  LoadClientOptions options = To(server);
  options.drain = Duration::Seconds(0.2);

  const LoadOutcome outcome = Load(Requests(1), options);

  // The server neither sends more nor closes: the run's end settles it.
  EXPECT_EQ(outcome.records[0].fate, Fate::kFailed);
  EXPECT_EQ(outcome.records[0].reason, kUnfinished);
  EXPECT_EQ(outcome.records[0].tokens.tokens(), 1);
}

TEST(LoadClient, ArrivalsDoNotWaitForAnswers) {
  // The first answer comes only when the last request has arrived.
  std::atomic<int> arrived{0};
  ScriptedServer server(WithChat([&](const Seen&) {
    ++arrived;
    while (arrived < 8) std::this_thread::yield();
    return Chunked({TokenEvent("a"), kStop});
  }));

  const LoadOutcome outcome = Load(Requests(8), To(server));

  for (const RequestRecord& record : outcome.records) EXPECT_EQ(record.fate, Fate::kFinished) << record.reason;
}

TEST(LoadClient, KeptConnectionsAreReusedAndAClosedOneIsReplaced) {
  std::atomic<int> count{0};
  // The third request on a connection finds it closed.
  std::map<int, int> per_connection;
  std::mutex mutex;
  ScriptedServer server(WithChat([&](const Seen& seen) -> std::string {
    ++count;
    const std::lock_guard lock(mutex);
    if (++per_connection[seen.connection] > 2) return "";
    return Chunked({TokenEvent("a"), kStop});
  }));

  const LoadOutcome outcome = Load(Requests(6, 0.05), To(server));

  for (const RequestRecord& record : outcome.records) EXPECT_EQ(record.fate, Fate::kFinished) << record.reason;
  EXPECT_LT(per_connection.size(), 6u);
}

TEST(LoadClient, DirectTargetsTakeTurnsAndTheirPreemptionsAddUp) {
  const auto engine = [](const std::string& name, std::atomic<int>& scrapes) {
    return [&scrapes, name](const Seen& seen) {
      if (seen.Has("GET /metrics")) {
        return Json(200, "vllm:num_preemptions_total{engine=\"0\"} " + std::to_string(10 + 3 * scrapes++) + "\n");
      }
      return Chunked({TokenEvent(name), kStop});
    };
  };
  std::atomic<int> first_scrapes{0}, second_scrapes{0};
  ScriptedServer first(engine("a", first_scrapes));
  ScriptedServer second(engine("b", second_scrapes));
  LoadClientOptions options = To(first);
  options.targets.push_back(second.Target());
  options.name_replicas = true;

  const LoadOutcome outcome = Load(Requests(4), options);

  EXPECT_EQ(outcome.preemptions, 6);
  const Results results = Summarise(outcome.records, Duration::Seconds(1));
  ASSERT_EQ(results.per_replica.size(), 2u);
  for (const auto& [replica, group] : results.per_replica) EXPECT_EQ(group.finished, 2) << replica;
}

TEST(LoadClient, AnAbsentServerFailsTheRequestsNotTheRun) {
  LoadTarget target;
  {
    ScriptedServer server([](const Seen&) { return std::string(); });
    target = server.Target();
  }
  LoadClientOptions options;
  options.targets = {target};
  options.model = "m";

  const LoadOutcome outcome = Load(Requests(2), options);

  for (const RequestRecord& record : outcome.records) {
    EXPECT_EQ(record.fate, Fate::kFailed);
    EXPECT_THAT(record.reason, HasSubstr("connection: "));
  }
}

}  // namespace
}  // namespace penstock::bench
