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

void WorkFor(Duration time) {
  const Instant end = Now() + time;
  while (Now() < end) {
  }
}

TEST(LoopTurn, TheWorkBehindAPauseIsATurn) {
  asio::io_context loop;
  const auto work = [&loop]() -> asio::awaitable<void> {
    co_await LetOthersRun(loop);
    const LoopTurns::Scope part(LoopTurns::Of(loop));
    WorkFor(Duration::Milliseconds(2));
  };
  asio::co_spawn(loop, work, asio::detached);
  loop.run();
  const TurnMeter& turns = LoopTurns::Of(loop).meter();
  EXPECT_GE(turns.Longest(Now()), Duration::Milliseconds(2));
  EXPECT_EQ(turns.long_turns(), 1) << "a part of a turn is no turn of its own";
}

}  // namespace
}  // namespace penstock
