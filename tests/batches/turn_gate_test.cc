#include "router/jobs/run/turn_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>

namespace penstock::jobs {
namespace {

namespace asio = boost::asio;

class TurnGateTest : public ::testing::Test {
 protected:
  // A coroutine that takes so many turns, each over two turns of the loop.
  void Begin(TenantId tenant, char name, int turns) { asio::co_spawn(io_, Take(tenant, name, turns), asio::detached); }

  asio::awaitable<void> Take(TenantId tenant, char name, int turns) {
    for (int i = 0; i < turns; ++i) {
      co_await gate_.Enter(tenant);
      EXPECT_FALSE(inside_) << "one at a time";
      inside_ = true;
      order_ += name;
      co_await asio::post(io_, asio::use_awaitable);
      inside_ = false;
      gate_.Leave();
    }
  }

  asio::io_context io_;
  TurnGate gate_{io_};
  bool inside_ = false;
  std::string order_;
};

TEST_F(TurnGateTest, ATenantWithManyWaitersTakesEverySecondTurnBesideAnother) {
  for (const char name : {'a', 'b', 'c', 'd'}) Begin(TenantId(1), name, 3);
  Begin(TenantId(2), 'Z', 3);
  io_.run();
  EXPECT_EQ(order_.size(), 15U);
  EXPECT_LE(order_.find_last_of('Z'), 6U) << order_;
}

TEST_F(TurnGateTest, WaitersOfOneTenantGoInTheOrderOfTheirComing) {
  for (const char name : {'a', 'b', 'c'}) Begin(TenantId(1), name, 1);
  io_.run();
  EXPECT_EQ(order_, "abc");
}

TEST_F(TurnGateTest, AGateThatNobodyHoldsIsOpenAgain) {
  Begin(TenantId(1), 'a', 1);
  io_.run();
  io_.restart();
  Begin(TenantId(1), 'b', 1);
  io_.run();
  EXPECT_EQ(order_, "ab");
}

}  // namespace
}  // namespace penstock::jobs
