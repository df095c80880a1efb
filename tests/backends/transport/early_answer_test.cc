// Engines that answer, or leave, while the request is still being written.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/backends/transport/scripted_server.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

const std::string kTooLarge = "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig";
// More than the sockets of both sides take.
const std::string kLongBody(64 << 20, 'x');

asio::awaitable<void> TakeNothing(Peer& peer) {
  // The peer reads nothing. A test that fails waits for this.
  co_await peer.Wait(std::chrono::seconds(8));
}

struct Early {
  Outcome outcome;
  int writes = 0;
  int partial_writes = 0;
  bool early = false;
};

asio::awaitable<Early> Exchange(UpstreamPool& pool, const std::string& body) {
  Early result;
  const UpstreamRequest request = Post("/", body);
  UpstreamExchange exchange;
  std::optional<absl::Status> sent = pool.SendNow(exchange, request);
  if (!sent) sent = co_await pool.FinishSend(exchange, Duration::Seconds(6));
  result.outcome.status = *sent;
  if (sent->ok()) {
    auto head = co_await exchange.ReadHead(Duration::Seconds(6));
    result.outcome.status = head.status();
    if (head.ok()) {
      result.outcome.http_status = head->status;
      result.early = head->early;
      auto all = co_await exchange.ReadAll(Duration::Seconds(6), 1000);
      if (all.ok()) result.outcome.body = *all;
    }
  }
  result.writes = exchange.writes();
  result.partial_writes = exchange.partial_writes();
  co_return result;
}

TEST(EarlyAnswer, AnAnswerOfAnEngineThatReadsNothingEndsTheWriting) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Wait(std::chrono::milliseconds(30));
                          co_await peer.Send(kTooLarge);
                          co_await TakeNothing(peer);
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const auto begun = std::chrono::steady_clock::now();
  const Early early = RunToEnd(loop, Exchange(pool, kLongBody));
  EXPECT_EQ(early.outcome.http_status, 413) << early.outcome.status;
  EXPECT_EQ(early.outcome.body, "big");
  EXPECT_TRUE(early.early);
  EXPECT_EQ(early.writes, 0);
  EXPECT_EQ(early.partial_writes, 1);
  EXPECT_EQ(pool.open(), 0u) << "the rest of the request is missing on the connection";
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4));
}

TEST(EarlyAnswer, AnAnswerThatComesInPiecesMayPrecedeTheRestOfTheRequest) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          for (const char byte : kTooLarge) {
                            co_await peer.Send(std::string(1, byte));
                            co_await peer.Wait(std::chrono::milliseconds(1));
                          }
                          co_await TakeNothing(peer);
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const Early early = RunToEnd(loop, Exchange(pool, kLongBody));
  EXPECT_EQ(early.outcome.http_status, 413) << early.outcome.status;
  EXPECT_EQ(early.outcome.body, "big");
}

TEST(EarlyAnswer, TheBytesBeforeAResetCount) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Wait(std::chrono::milliseconds(30));
                          co_await peer.Send(kTooLarge);
                          peer.Reset();
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const Early early = RunToEnd(loop, Exchange(pool, kLongBody));
  EXPECT_EQ(early.outcome.http_status, 413) << early.outcome.status;
  EXPECT_EQ(early.outcome.body, "big");
}

TEST(EarlyAnswer, AnInterimAnswerDoesNotEndTheWriting) {
  asio::io_context loop;
  size_t taken = 0;
  ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n");
                          co_await peer.Wait(std::chrono::milliseconds(30));
                          taken = (co_await peer.Request()).size();
                          co_await peer.Send(Answer("fine"));
                          co_await peer.UntilClosed();
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const std::string body(8 << 20, 'x');
  const Early late = RunToEnd(loop, Exchange(pool, body));
  EXPECT_EQ(late.outcome.body, "fine") << late.outcome.status;
  EXPECT_FALSE(late.early);
  EXPECT_EQ(late.writes, 1);
  EXPECT_EQ(late.partial_writes, 0);
  EXPECT_GT(taken, body.size());
  EXPECT_EQ(pool.idle(), 1u);
}

TEST(EarlyAnswer, EndlessInterimAnswersAreGarbage) {
  for (const size_t size : {size_t{10}, kLongBody.size()}) {
    asio::io_context loop;
    ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                            for (int i = 0; i < 100; ++i) co_await peer.Send("HTTP/1.1 102 Processing\r\n\r\n");
                            co_await TakeNothing(peer);
                          }});
    UpstreamPool pool(loop, server.address(), {});
    const Early endless = RunToEnd(loop, Exchange(pool, kLongBody.substr(0, size)));
    EXPECT_EQ(endless.outcome.status.code(), absl::StatusCode::kDataLoss) << endless.outcome.status;
  }
}

// The true answer may follow: the next request would get it.
TEST(EarlyAnswer, AConnectionWhoseLastHeadIsInterimServesNoOtherRequest) {
  const std::string interim = "HTTP/1.1 102 Processing\r\n\r\n";
  for (const std::string& last : {interim, std::string("HTTP/1.1 101 Switching Protocols\r\n\r\n")}) {
    asio::io_context loop;
    ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                            co_await peer.Request();
                            for (int i = 0; i < 16; ++i) co_await peer.Send(interim);
                            co_await peer.Wait(std::chrono::milliseconds(30));
                            co_await peer.Send(last);
                            co_await peer.UntilClosed();
                          }});
    UpstreamPool pool(loop, server.address(), {});
    const Early refused = RunToEnd(loop, Exchange(pool, "x"));
    EXPECT_EQ(refused.outcome.status.code(), absl::StatusCode::kDataLoss) << refused.outcome.status;
    EXPECT_EQ(pool.open(), 0u);
  }
}

TEST(EarlyAnswer, NonsenseEndsTheWriting) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Send("SSH-2.0-OpenSSH_9.2\r\n");
                          co_await TakeNothing(peer);
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const Early nonsense = RunToEnd(loop, Exchange(pool, kLongBody));
  EXPECT_EQ(nonsense.outcome.status.code(), absl::StatusCode::kDataLoss) << nonsense.outcome.status;
}

TEST(EarlyAnswer, AnEngineThatLeavesInMidRequestHasTakenAPartOfIt) {
  for (const bool reset : {false, true}) {
    asio::io_context loop;
    ScriptedServer server(loop, {[reset](Peer& peer) -> asio::awaitable<void> {
                            co_await peer.Wait(std::chrono::milliseconds(30));
                            reset ? peer.Reset() : peer.Close();
                          }});
    UpstreamPool pool(loop, server.address(), {});
    const Early lost = RunToEnd(loop, Exchange(pool, kLongBody));
    EXPECT_EQ(lost.outcome.status.code(), absl::StatusCode::kUnavailable) << lost.outcome.status;
    EXPECT_EQ(lost.writes, 0);
    EXPECT_EQ(lost.partial_writes, 1);
    EXPECT_EQ(server.connections(), 1);
  }
}

TEST(EarlyAnswer, AStaleConnectionIsReplacedOnceInTheMiddleOfARequestToo) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                                 co_await peer.Request();
                                 co_await peer.Send(Answer("first"));
                                 co_await peer.Wait(std::chrono::milliseconds(50));
                                 peer.Reset();
                               },
                               Always(Answer("second"))});
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, "{}")).outcome.body, "first");
  const std::string body(16 << 20, 'x');
  const Early again = RunToEnd(loop, Exchange(pool, body));
  EXPECT_EQ(again.outcome.body, "second") << again.outcome.status;
  EXPECT_EQ(again.writes, 1);
  EXPECT_EQ(again.partial_writes, 1);
}

TEST(EarlyAnswer, AnswersInCodingsAndOfImpossibleSizeAreGarbageAtOnce) {
  for (const char* answer :
       {"HTTP/1.1 000 None\r\n\r\n", "HTTP/1.1 099 None\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: br\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n{}"}) {
    asio::io_context loop;
    ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                            co_await peer.Request();
                            co_await peer.Send(answer);
                            co_await TakeNothing(peer);
                          }});
    UpstreamPool pool(loop, server.address(), {});
    const Outcome outcome = RunToEnd(loop, penstock::Exchange(pool, Get("/")));
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDataLoss) << outcome.status << "\n" << answer;
  }
  asio::io_context loop;
  ScriptedServer plain(loop, {Always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: identity\r\n\r\n{}")});
  UpstreamPool pool(loop, plain.address(), {});
  EXPECT_EQ(RunToEnd(loop, penstock::Exchange(pool, Get("/"))).body, "{}");
}

}  // namespace
}  // namespace penstock
