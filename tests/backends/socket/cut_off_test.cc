#include "backends/socket/cut_off.h"

#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>

#include "absl/cleanup/cleanup.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

// The waits of a coroutine that waits for an hour again and again.
struct Seen {
  int waits = 0;
  bool ended = false;
};

asio::awaitable<void> WaitForHours(asio::io_context& loop, Seen& seen) {
  const auto end = absl::MakeCleanup([&seen] { seen.ended = true; });
  while (true) {
    asio::steady_timer timer(loop, std::chrono::hours(1));
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    ++seen.waits;
  }
}

TEST(CutOffTest, ACutEndsTheWaitAndTheNextOneThrows) {
  Seen first;
  Seen second;
  asio::io_context loop;
  CutOff work;
  work.Spawn(loop, WaitForHours(loop, first));
  work.Spawn(loop, WaitForHours(loop, second));
  asio::post(loop, [&] { asio::post(loop, [&] { work.Cut(); }); });
  EXPECT_FALSE(work.cut());
  loop.run();
  EXPECT_TRUE(work.cut());
  for (const Seen& seen : {first, second}) {
    EXPECT_TRUE(seen.ended);
    EXPECT_EQ(seen.waits, 1);
  }
}

TEST(CutOffTest, ACoroutineThatHasEndedAndOneThatOutlivesTheOwnerAreLeftAlone) {
  Seen seen;
  asio::io_context loop;
  auto work = std::make_unique<CutOff>();
  work->Spawn(loop, []() -> asio::awaitable<void> { co_return; }());
  loop.run();
  work->Cut();
  loop.restart();
  work->Spawn(loop, WaitForHours(loop, seen));
  loop.poll();
  work.reset();
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_FALSE(seen.ended);
}

}  // namespace
}  // namespace penstock
