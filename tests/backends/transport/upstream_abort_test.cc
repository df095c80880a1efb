// Callers that drop, abort or outlive an exchange.
#include <gtest/gtest.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>

#include "tests/backends/transport/scripted_server.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

TEST(UpstreamFailure, DroppingAnExchangeBeforeItsEndClosesTheConnectionAtOnce) {
  asio::io_context loop;
  bool closed = false;
  ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
                          co_await peer.UntilClosed();
                          closed = true;
                        }});
  UpstreamPool pool(loop, server.address(), {});
  const auto work = [](UpstreamPool& to) -> asio::awaitable<bool> {
    const UpstreamRequest request = Get("/");
    auto exchange = co_await to.Send(request, Duration::Seconds(5));
    co_return (co_await exchange->ReadHead(Duration::Seconds(5))).ok();
  };
  EXPECT_TRUE(RunToEnd(loop, work(pool)));
  EXPECT_EQ(pool.open(), 0u);
  for (int i = 0; i < 100 && !closed; ++i) loop.run_one_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(closed);
}

TEST(UpstreamFailure, AbortEndsAPendingRead) {
  asio::io_context loop;
  ScriptedServer server(loop, {[](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                          co_await peer.UntilClosed();
                        }});
  UpstreamPool pool(loop, server.address(), {});
  asio::steady_timer timer(loop);
  const auto work = [&timer](UpstreamPool& to) -> asio::awaitable<absl::Status> {
    const UpstreamRequest request = Get("/");
    auto exchange = co_await to.Send(request, Duration::Seconds(5));
    (co_await exchange->ReadHead(Duration::Seconds(5))).IgnoreError();
    timer.expires_after(std::chrono::milliseconds(10));
    timer.async_wait([&](const auto&) { exchange->Abort(); });
    auto piece = co_await exchange->ReadSome(Duration::Infinite());
    exchange->Abort();
    co_return piece.status();
  };
  EXPECT_EQ(RunToEnd(loop, work(pool)).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(pool.open(), 0u);
}

TEST(UpstreamFailure, AbortAfterTheEndKeepsTheConnectionOutOfThePool) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always(Answer("x"))});
  UpstreamPool pool(loop, server.address(), {});
  const auto work = [](UpstreamPool& to) -> asio::awaitable<bool> {
    const UpstreamRequest request = Get("/");
    auto exchange = co_await to.Send(request, Duration::Seconds(5));
    (co_await exchange->ReadHead(Duration::Seconds(5))).IgnoreError();
    auto body = co_await exchange->ReadAll(Duration::Seconds(5), 10);
    exchange->Abort();
    co_return body.ok();
  };
  EXPECT_TRUE(RunToEnd(loop, work(pool)));
  EXPECT_EQ(pool.idle(), 0u);
  EXPECT_EQ(pool.open(), 0u);
}

TEST(UpstreamFailure, AWaitThatItsCallerGaveUpIsNotTakenForAStaleConnection) {
  asio::io_context loop;
  int requests = 0;
  ScriptedServer server(loop, {[&](Peer& peer) -> asio::awaitable<void> {
                          co_await peer.Request();
                          co_await peer.Send(Answer("first"));
                          while (!(co_await peer.Request()).empty()) ++requests;
                        }});
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, Exchange(pool, Get("/"))).body, "first");
  const auto give_up = [&loop](UpstreamPool& to) -> asio::awaitable<size_t> {
    using namespace asio::experimental::awaitable_operators;
    const UpstreamRequest request = Get("/");
    auto exchange = co_await to.Send(request, Duration::Seconds(5));
    asio::steady_timer timer(loop, std::chrono::milliseconds(20));
    auto first = co_await (exchange->ReadHead(Duration::Infinite()) || timer.async_wait(asio::use_awaitable));
    co_return first.index();
  };
  EXPECT_EQ(RunToEnd(loop, give_up(pool)), 1u);
  EXPECT_EQ(requests, 1);
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(pool.open(), 0u);
}

TEST(UpstreamFailure, AnExchangeMayOutliveItsPool) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always(Answer("x"))});
  auto pool = std::make_unique<UpstreamPool>(loop, server.address(), UpstreamPool::Options());
  const auto work = [](std::unique_ptr<UpstreamPool>& to) -> asio::awaitable<std::string> {
    const UpstreamRequest request = Get("/");
    auto exchange = co_await to->Send(request, Duration::Seconds(5));
    to.reset();
    (co_await exchange->ReadHead(Duration::Seconds(5))).IgnoreError();
    co_return *co_await exchange->ReadAll(Duration::Seconds(5), 10);
  };
  EXPECT_EQ(RunToEnd(loop, work(pool)), "x");
}

}  // namespace
}  // namespace penstock
