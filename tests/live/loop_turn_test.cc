#include "router/live/loop_turn.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <string>

namespace penstock {
namespace {

namespace asio = boost::asio;

TEST(LoopTurn, EndsAfterItsSteps) {
  LoopTurn turn;
  const Instant now = Instant::FromSeconds(1);
  turn.Restart(now);
  for (int i = 1; i < LoopTurn::kSteps; ++i) EXPECT_FALSE(turn.Step(now));
  EXPECT_TRUE(turn.Step(now));
  turn.Restart(now);
  EXPECT_FALSE(turn.Step(now));
}

TEST(LoopTurn, EndsAfterItsTime) {
  LoopTurn turn;
  const Instant began = Instant::FromSeconds(1);
  turn.Restart(began);
  EXPECT_FALSE(turn.Step(began + LoopTurn::kLongest - Duration::Nanoseconds(1)));
  EXPECT_TRUE(turn.Step(began + LoopTurn::kLongest));
}

asio::awaitable<void> Write(asio::io_context& loop, std::string& order, char name) {
  for (int i = 0; i < 3; ++i) {
    order += name;
    co_await LetOthersRun(loop);
  }
}

TEST(LoopTurn, OthersRunBetween) {
  asio::io_context loop;
  std::string order;
  asio::co_spawn(loop, Write(loop, order, 'a'), asio::detached);
  asio::co_spawn(loop, Write(loop, order, 'b'), asio::detached);
  loop.run();
  EXPECT_EQ(order, "ababab");
}

}  // namespace
}  // namespace penstock
