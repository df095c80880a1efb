// Engines that close, stall, or send wrong lengths and garbage.
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/backends/recording.h"
#include "tests/backends/transport/scripted_server.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

TEST(UpstreamFailure, AStaleKeptConnectionIsReplacedOnceWithoutTheCallerSeeingIt) {
  asio::io_context loop;
  int requests = 0;
  // The first connection takes the second request and closes without a byte. An engine does this when its keep-alive
  // ends while the request travels.
  ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                                 co_await peer.Request();
                                 co_await peer.Send(Answer("first"));
                                 if (!(co_await peer.Request()).empty()) ++requests;
                               },
                               Always(Answer("second"))});
  UpstreamPool pool(loop, server.address(), {});
  const std::string body = "{\"x\":1}";
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Post("/", body))).body, "first");
  const Outcome outcome = RunToEnd(loop, Exchange(pool, Post("/", body)));
  EXPECT_EQ(outcome.body, "second") << outcome.status;
  EXPECT_EQ(requests, 1);
  EXPECT_EQ(server.connections(), 2);
}

TEST(UpstreamFailure, AResetKeptConnectionIsReplacedToo) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                                 co_await peer.Request();
                                 co_await peer.Send(Answer("first"));
                                 co_await peer.Request();
                                 peer.Reset();
                               },
                               Always(Answer("second"))});
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "first");
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "second");
}

TEST(UpstreamFailure, AKeptConnectionThatEndsWithATimeoutIsReplacedOnce) {
  asio::io_context loop;
  const std::string timeout = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                                 co_await peer.Request();
                                 co_await peer.Send(Answer("first"));
                                 co_await peer.Request();
                                 co_await peer.Send(timeout);
                               },
                               Always(Answer("second"))});
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "first");
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "second");
}

TEST(UpstreamFailure, BytesOfAHeadThatNeverEndsGiveNoMoreTime) {
  asio::io_context loop;
  bool ended = false;
  ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send("HTTP/1.1 200 OK\r\nX: ");
                          for (int i = 0; i < 200 && !ended; ++i) {
                            co_await peer.Wait(std::chrono::milliseconds(10));
                            co_await peer.Send("x");
                          }
                          co_await peer.Send("\r\nContent-Length: 2\r\n\r\nok");
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const Outcome outcome = RunToEnd(loop, Exchange(pool, Get("/"), Duration::Milliseconds(300)));
  ended = true;
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDeadlineExceeded) << outcome.status;
}

TEST(UpstreamFailure, AFreshConnectionThatClosesWithoutAByteIsNotTriedAgain) {
  asio::io_context loop;
  ScriptedServer server(loop, {Once("")});
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server.connections(), 1);
}

TEST(UpstreamFailure, AKeptConnectionThatDiesAfterSomeBytesIsNotTriedAgain) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send(Answer("first"));
                          co_await peer.Request();
                          co_await peer.Send("HTTP/1.1 200");
                        }});
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "first");
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server.connections(), 1);
}

TEST(UpstreamFailure, AConnectionThatTheEngineClosedAfterItsAnswerIsNotUsedAgain) {
  asio::io_context loop;
  ScriptedServer server(loop, {Once(RecordedResponse("chat-stream"))});  // Says keep-alive, then closes.
  UpstreamPool pool(loop, server.address(), {});
  for (int i = 1; i <= 3; ++i) {
    const Outcome outcome = RunToEnd(loop, Exchange(pool, Get("/")));
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(server.connections(), i);
  }
}

TEST(UpstreamFailure, CutAndWrongLengthsAreDataLossAndWhatCameBeforeIsGiven) {
  const std::pair<std::string, std::string> cases[] = {
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", "abc"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "abc"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n", "abc"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", "abc"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "abc"},
      {RecordedResponse("raw-stream-cut-by-kill9"), RecordedBody("raw-stream-cut-by-kill9")},
  };
  for (const auto& [answer, body] : cases) {
    asio::io_context loop;
    ScriptedServer server(loop, {Once(answer)});
    UpstreamPool pool(loop, server.address(), {});
    const Outcome outcome = RunToEnd(loop, Exchange(pool, Get("/")));
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDataLoss) << outcome.status << "\n" << answer;
    EXPECT_EQ(outcome.body, body) << answer;
    EXPECT_EQ(pool.open(), 0u);
  }
}

TEST(UpstreamFailure, AResetInTheBodyIsDataLoss) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send("HTTP/1.1 200 OK\r\n\r\nabc");
                          co_await peer.Wait(std::chrono::milliseconds(20));
                          peer.Reset();
                        }});
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).status.code(), absl::StatusCode::kDataLoss);
}

TEST(UpstreamFailure, GarbageIsDataLoss) {
  for (const char* answer : {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/3.0 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "\r\n\r\n\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    asio::io_context loop;
    ScriptedServer server(loop, {Once(answer)});
    UpstreamPool pool(loop, server.address(), {});
    const Outcome outcome = RunToEnd(loop, Exchange(pool, Get("/")));
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDataLoss) << outcome.status << "\n" << answer;
  }
}

TEST(UpstreamFailure, EndlessHeadersAndEndlessChunkFramesAreCutOff) {
  for (const std::string start : {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;"}) {
    asio::io_context loop;
    ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                            co_await peer.Request();
                            co_await peer.Send(start);
                            for (int i = 0; i < 200; ++i) co_await peer.Send("X-Filler: " + std::string(1000, 'x'));
                            co_await peer.UntilClosed();
                          }});
    UpstreamPool pool(loop, server.address(), {});
    const Outcome outcome = RunToEnd(loop, Exchange(pool, Get("/")));
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDataLoss) << outcome.status;
  }
}

TEST(UpstreamFailure, ASlowHeadExceedsItsDeadlineAndMayBeAwaitedFurther) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send("HTTP/1.1 20");
                          co_await peer.Wait(std::chrono::milliseconds(60));
                          co_await peer.Send(Answer("x").substr(11));
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const auto work = [](UpstreamPool& to) -> asio::awaitable<std::vector<absl::Status>> {
    const UpstreamRequest request = Get("/");
    auto exchange = co_await to.Send(request, Duration::Seconds(5));
    auto early = co_await exchange->ReadHead(Duration::Milliseconds(10));
    auto late = co_await exchange->ReadHead(Duration::Seconds(5));
    std::vector<absl::Status> statuses = {early.status(), late.status()};
    co_return statuses;
  };
  const auto statuses = RunToEnd(loop, work(pool));
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(statuses[1].ok()) << statuses[1];
}

TEST(UpstreamFailure, AStalledBodyExceedsItsDeadlineAndLosesNothing) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabc");
                          co_await peer.Wait(std::chrono::milliseconds(60));
                          co_await peer.Send("def\r\n0\r\n\r\n");
                          co_await peer.UntilClosed();
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const auto work = [](UpstreamPool& to) -> asio::awaitable<std::string> {
    const UpstreamRequest request = Get("/");
    auto exchange = co_await to.Send(request, Duration::Seconds(5));
    (co_await exchange->ReadHead(Duration::Seconds(5))).IgnoreError();
    std::string story;
    while (true) {
      auto piece = co_await exchange->ReadSome(Duration::Milliseconds(20));
      if (absl::IsDeadlineExceeded(piece.status())) {
        if (story.empty() || story.back() != '|') story += '|';
        continue;
      }
      if (!piece.ok()) co_return piece.status().ToString();
      if (piece->empty()) co_return story;
      story.append(piece->data(), piece->size());
    }
  };
  EXPECT_EQ(RunToEnd(loop, work(pool)), "abc|def");
  EXPECT_EQ(pool.idle(), 1u);
}

TEST(UpstreamFailure, ARefusedConnectionIsUnavailable) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always("")});
  server.StopListening();
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(pool.open(), 0u);
}

// A listener whose queue is full lets nobody in; the kernel asks again after a second.
TEST(UpstreamFailure, AConnectionMayTakeItsTimeAndNoLonger) {
  asio::io_context loop;
  asio::ip::tcp::acceptor full(loop, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  full.listen(0);
  asio::ip::tcp::socket first(loop);
  first.connect(full.local_endpoint());
  const UpstreamAddress address{"127.0.0.1", full.local_endpoint().port(), ""};
  const auto within = [&](Duration limit) {
    UpstreamPool::Options options;
    options.connect_timeout = limit;
    UpstreamPool pool(loop, address, options);
    const auto send = [](UpstreamPool& to) -> asio::awaitable<absl::Status> {
      const UpstreamRequest request = Get("/");
      auto exchange = co_await to.Send(request, Duration::Seconds(9));
      co_return exchange.status();
    };
    return RunToEnd(loop, send(pool)).code();
  };
  EXPECT_EQ(within(Duration::Milliseconds(100)), absl::StatusCode::kDeadlineExceeded);
  asio::steady_timer later(loop, std::chrono::milliseconds(50));
  std::vector<asio::ip::tcp::socket> accepted;
  later.async_wait([&](const auto&) { accepted.push_back(full.accept()); });
  EXPECT_EQ(within(Duration::Seconds(8)), absl::StatusCode::kOk);
}

TEST(UpstreamFailure, AnUnknownHostIsUnavailable) {
  asio::io_context loop;
  UpstreamPool pool(loop, UpstreamAddress{"no-such-host.invalid", 80, ""}, {});
  const absl::Status status = RunToEnd(loop, Exchange(pool, Get("/"))).status;
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) << status;
}

TEST(UpstreamFailure, AnEngineThatTakesNoBytesExceedsTheDeadlineOfSend) {
  asio::io_context loop;
  ScriptedServer server(
      loop, {[](Peer& peer) -> asio::awaitable<void> { co_await peer.Wait(std::chrono::milliseconds(500)); }});
  UpstreamPool pool(loop, server.address(), {});
  const std::string body(64 << 20, 'x');
  const Outcome outcome = RunToEnd(loop, Exchange(pool, Post("/", body), Duration::Milliseconds(50)));
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDeadlineExceeded) << outcome.status;
}

TEST(UpstreamFailure, AnAnswerThatComesBeforeTheBodyWasTakenIsRead) {
  asio::io_context loop;
  ScriptedServer server(
      loop, {[](Peer& peer) -> asio::awaitable<void> {
        co_await peer.Send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig");
        co_await peer.UntilClosed();
      }});
  UpstreamPool pool(loop, server.address(), {});
  const std::string body(1 << 20, 'x');
  const Outcome outcome = RunToEnd(loop, Exchange(pool, Post("/", body)));
  EXPECT_EQ(outcome.http_status, 413) << outcome.status;
  EXPECT_EQ(pool.idle(), 0u);
}

}  // namespace
}  // namespace penstock
