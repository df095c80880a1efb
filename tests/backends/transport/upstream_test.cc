// Exchanges that go well, and what becomes of their connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backends/recording.h"
#include "tests/backends/transport/scripted_server.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

using testing::HasSubstr;
using testing::Not;

UpstreamPool::Options IdleFor(Duration limit) {
  UpstreamPool::Options options;
  options.idle_limit = limit;
  return options;
}

// Runs the loop until `reached` or a minute.
template <class Condition>
bool Eventually(asio::io_context& loop, Condition reached) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  loop.restart();
  while (!reached() && std::chrono::steady_clock::now() < limit) loop.run_one_for(std::chrono::milliseconds(20));
  return reached();
}

TEST(Upstream, TheRequestIsWrittenWithItsHeadersAndTheBodyInPieces) {
  asio::io_context loop;
  std::string seen;
  ScriptedServer server(loop, {[&seen](Peer& peer) -> asio::awaitable<void> {
                          seen = co_await peer.Request();
                          co_await peer.Send(Answer("ok"));
                        }});
  UpstreamAddress address = server.address();
  address.base_path = "/prefix";
  UpstreamPool pool(loop, address, {});
  UpstreamRequest request;
  request.target = "/v1/x";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = {"{\"a\":", "1", "}"};

  const Outcome outcome = RunToEnd(loop, Exchange(pool, request));

  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.body, "ok");
  EXPECT_EQ(seen, "POST /prefix/v1/x HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(address.port) +
                      "\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
}

TEST(Upstream, ALineBreakInAHeaderOrTargetIsNotSent) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always(Answer(""))});
  UpstreamPool pool(loop, server.address(), {});
  UpstreamRequest request = Get("/");
  request.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, request)).status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/ HTTP/1.1\r\nX: y"))).status.code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(server.connections(), 0);
}

TEST(Upstream, AKeptConnectionServesTheNextRequest) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always(Answer("hello"))});
  UpstreamPool pool(loop, server.address(), {});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "hello");
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(pool.idle(), 1u);
  EXPECT_EQ(pool.open(), 1u);
}

TEST(Upstream, BytesOfAStreamArriveAsTheyAreSent) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send(
                              "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n");
                          co_await peer.Request();  // Waits for what never comes: the test ends it.
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const auto work = [](UpstreamPool& to) -> asio::awaitable<std::string> {
    const UpstreamRequest request = Get("/");
    auto exchange = co_await to.Send(request, Duration::Seconds(5));
    auto head = co_await exchange->ReadHead(Duration::Seconds(5));
    if (!head.ok() || !head->event_stream) co_return "no event stream";
    auto piece = co_await exchange->ReadSome(Duration::Milliseconds(30));
    co_return std::string(piece.status().message());
  };
  EXPECT_THAT(RunToEnd(loop, work(pool)), HasSubstr("timed out"));
}

TEST(Upstream, SeveralChunksOfOneReadAreOneView) {
  asio::io_context loop;
  ScriptedServer server(
      loop,
      {Always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n1\r\nf\r\n0\r\n\r\n")});
  UpstreamPool pool(loop, server.address(), {});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "abcdef");
  EXPECT_EQ(server.connections(), 1);
}

// Every recorded answer, however its bytes are cut into segments, gives the body that was recorded.
class ReplayedRecording : public testing::TestWithParam<const char*> {};

TEST_P(ReplayedRecording, GivesItsBodyForEverySegmentation) {
  const std::string bytes = RecordedResponse(GetParam());
  const std::string body = RecordedBody(GetParam());
  for (size_t piece : {size_t{1}, size_t{13}, size_t{200}, bytes.size()}) {
    asio::io_context loop;
    ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                            co_await peer.Request();
                            for (size_t at = 0; at < bytes.size(); at += piece) {
                              co_await peer.Send(bytes.substr(at, piece));
                              if (bytes.size() / piece < 50) co_await peer.Wait(std::chrono::milliseconds(1));
                            }
                          }});
    UpstreamPool pool(loop, server.address(), {});
    const Outcome outcome = RunToEnd(loop, Exchange(pool, Get("/")));
    EXPECT_TRUE(outcome.status.ok()) << outcome.status << " pieces of " << piece;
    EXPECT_EQ(outcome.body, body) << "pieces of " << piece;
  }
}

INSTANTIATE_TEST_SUITE_P(LlamaServer, ReplayedRecording,
                         testing::Values("chat-stream", "completions-stream-n2", "chat-nonstream", "responses-stream",
                                         "raw-stream-kv-exhausted", "edge-http10-stream", "get-props", "err-bad-json",
                                         "err-long-header-9k", "stream-sse-ping"));

TEST(Upstream, InterimAnswersAreSkipped) {
  asio::io_context loop;
  ScriptedServer server(
      loop, {Always("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + Answer("real"))});
  UpstreamPool pool(loop, server.address(), {});
  const Outcome outcome = RunToEnd(loop, Exchange(pool, Get("/")));
  EXPECT_EQ(outcome.http_status, 200);
  EXPECT_EQ(outcome.body, "real");
  EXPECT_EQ(pool.idle(), 1u);
}

TEST(Upstream, ConnectionsThatWillNotBeKeptAreNotPooled) {
  const std::string answers[] = {
      Answer("x", "Connection: close\r\n"),
      "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
      Answer("x") + "unasked",
      "HTTP/1.1 200 OK\r\n\r\nx",
  };
  for (const std::string& answer : answers) {
    asio::io_context loop;
    ScriptedServer server(loop, {Once(answer)});
    UpstreamPool pool(loop, server.address(), {});
    EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "x") << answer;
    EXPECT_EQ(pool.idle(), 0u) << answer;
    EXPECT_EQ(pool.open(), 0u) << answer;
  }
}

TEST(Upstream, AnHttp10AnswerThatKeepsAliveIsPooled) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx")});
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "x");
  EXPECT_EQ(pool.idle(), 1u);
}

TEST(Upstream, IdleConnectionsAreClosedByUsAtTheLimit) {
  asio::io_context loop;
  bool client_closed = false;
  ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send(Answer("x"));
                          co_await peer.UntilClosed();
                          client_closed = true;
                        }});
  UpstreamPool pool(loop, server.address(), IdleFor(Duration::Milliseconds(50)));
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "x");
  EXPECT_EQ(pool.idle(), 1u);
  EXPECT_TRUE(Eventually(loop, [&] { return client_closed; }));
  EXPECT_EQ(pool.idle(), 0u);
  EXPECT_EQ(pool.open(), 0u);
}

TEST(Upstream, TheNumberOfIdleConnectionsIsBounded) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always(Answer("x"))});
  UpstreamPool::Options options;
  options.max_idle = 2;
  UpstreamPool pool(loop, server.address(), options);
  const auto together = [](UpstreamPool& to) -> asio::awaitable<int> {
    const UpstreamRequest request = Get("/");
    std::vector<UpstreamExchange> exchanges;
    for (int i = 0; i < 4; ++i) exchanges.push_back(*co_await to.Send(request, Duration::Seconds(5)));
    for (UpstreamExchange& exchange : exchanges) {
      (co_await exchange.ReadHead(Duration::Seconds(5))).IgnoreError();
      (co_await exchange.ReadAll(Duration::Seconds(5), 100)).IgnoreError();
    }
    co_return static_cast<int>(to.open());
  };
  EXPECT_EQ(RunToEnd(loop, together(pool)), 4);
  EXPECT_EQ(pool.idle(), 2u);
  EXPECT_EQ(pool.open(), 2u);
  pool.CloseIdle();
  EXPECT_EQ(pool.open(), 0u);
}

TEST(Upstream, AHostNameIsLookedUp) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always(Answer("x"))});
  UpstreamAddress address = server.address();
  address.host = "localhost";
  UpstreamPool pool(loop, address, {});
  const Outcome outcome = RunToEnd(loop, Exchange(pool, Get("/")));
  EXPECT_EQ(outcome.body, "x") << outcome.status;
}

TEST(Upstream, ReadAllStopsAtItsLimit) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always(Answer(std::string(5000, 'x')))});
  UpstreamPool pool(loop, server.address(), {});
  const auto read = [](UpstreamPool& from, size_t limit) -> asio::awaitable<absl::StatusOr<std::string>> {
    const UpstreamRequest request = Get("/");
    auto exchange = co_await from.Send(request, Duration::Seconds(5));
    (co_await exchange->ReadHead(Duration::Seconds(5))).IgnoreError();
    co_return co_await exchange->ReadAll(Duration::Seconds(5), limit);
  };
  EXPECT_EQ(RunToEnd(loop, read(pool, 4999)).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(RunToEnd(loop, read(pool, 5000))->size(), 5000u);
}

TEST(Upstream, AWholeAnswerIsAtHandOnlyWhenAllOfItCameAndItIsNotTooLong) {
  const auto length_at_hand = [](const std::vector<std::string>& parts, size_t limit) {
    asio::io_context loop;
    ScriptedServer server(loop, {[&parts](Peer& peer) -> asio::awaitable<void> {
                            (void)co_await peer.Request();
                            for (const std::string& part : parts) {
                              co_await peer.Send(part);
                              co_await peer.Wait(std::chrono::milliseconds(50));
                            }
                          }});
    UpstreamPool pool(loop, server.address(), {});
    const auto read = [](UpstreamPool& from, size_t most) -> asio::awaitable<std::string> {
      const UpstreamRequest request = Get("/");
      auto exchange = co_await from.Send(request, Duration::Seconds(5));
      (co_await exchange->ReadHead(Duration::Seconds(5))).IgnoreError();
      if (const auto whole = exchange->WholeAtHand(most)) co_return std::string(*whole);
      auto all = co_await exchange->ReadAll(Duration::Seconds(5), 1000);
      co_return "later " + *all;
    };
    return RunToEnd(loop, read(pool, limit));
  };
  EXPECT_EQ(length_at_hand({Answer("hello")}, 5), "hello");
  EXPECT_EQ(length_at_hand({Answer("hello")}, 4), "later hello");
  const std::string answer = Answer("hello");
  EXPECT_EQ(length_at_hand({answer.substr(0, answer.size() - 2), "lo"}, 5), "later hello");
  EXPECT_EQ(length_at_hand({Answer("")}, 5), "");
}

TEST(Upstream, ABodyOfManyMegabytesPassesThrough) {
  asio::io_context loop;
  std::string big(8 << 20, 'a');
  for (size_t i = 0; i < big.size(); i += 4099) big[i] = static_cast<char>('b' + i % 20);
  ScriptedServer server(loop, {Always(Answer(big))});
  UpstreamPool pool(loop, server.address(), {});
  const Outcome outcome = RunToEnd(loop, Exchange(pool, Post("/", big)));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_TRUE(outcome.body == big);
}

TEST(Upstream, AHeadAnswerHasNoBodyWhateverItsLengthSays) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")});
  UpstreamPool pool(loop, server.address(), {});
  UpstreamRequest request = Get("/");
  request.method = "HEAD";
  const Outcome outcome = RunToEnd(loop, Exchange(pool, request));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.body, "");
  EXPECT_EQ(pool.idle(), 1u);
}

TEST(Upstream, HeadersAreFoundInAnyCase) {
  UpstreamHead head;
  head.headers = {{"content-type", "a"}, {"X-B", "c"}};
  EXPECT_EQ(FindHeader(head.headers, "Content-Type"), "a");
  EXPECT_EQ(FindHeader(head.headers, "x-b"), "c");
  EXPECT_EQ(FindHeader(head.headers, "y"), "");
  const UpstreamHead copy = std::exchange(head, UpstreamHead());
  EXPECT_EQ(FindHeader(copy.headers, "x-b"), "c");
  EXPECT_EQ(copy.headers.size(), 2u);
  EXPECT_EQ(head.headers.size(), 0u);
}

}  // namespace
}  // namespace penstock
