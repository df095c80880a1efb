#include "router/live/event_loop.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <future>
#include <memory>

namespace penstock {
namespace {

// Leaves its loop when it is closed, as a client's connection does.
class Connection final : public LoopConnection {
 public:
  explicit Connection(EventLoop& loop) : loop_(loop) { loop_.connections().Enter(*this, 0); }
  void Close() override {
    ++closed;
    if (leaves) loop_.connections().Leave(*this);
  }
  void CloseIfIdle() override {
    if (idle) Close();
  }

  bool idle = true;
  bool leaves = true;
  int closed = 0;

 private:
  EventLoop& loop_;
};

class EventLoops : public testing::Test {
 protected:
  // Runs on the loop's thread and waits for its end.
  void OnLoop(const std::function<void()>& work) {
    std::promise<void> done;
    boost::asio::post(loop_.io(), [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  Edge edge_;
  EventLoop loop_{1, edge_};
};

TEST_F(EventLoops, ALoopThatNeverRanStopsAtOnce) { loop_.Stop(); }

TEST_F(EventLoops, RequestIdsGrowAndNameTheLoop) {
  const RequestId first = loop_.NextRequestId();
  const RequestId second = loop_.NextRequestId();
  EXPECT_LT(first, second);
  EXPECT_EQ(LoopOf(first), 1u);
  EXPECT_EQ(LoopOf(second), 1u);
}

TEST_F(EventLoops, AFleetIsReplacedOnTheLoop) {
  loop_.Start();
  const auto view = std::make_shared<const FleetView>(FleetBook(Config()));
  std::promise<const FleetView*> seen;
  loop_.PostFleet(view, [&] { seen.set_value(loop_.fleet().get()); });
  EXPECT_EQ(seen.get_future().get(), view.get());
  loop_.Stop();
}

TEST_F(EventLoops, AReplicaWithoutAnAddressHasNoPool) {
  loop_.Start();
  OnLoop([this] { EXPECT_EQ(loop_.PoolOf(ReplicaId(0)), nullptr) << "there is no fleet yet"; });
  auto view = std::make_shared<FleetView>(FleetBook(Config()));
  view->engines.resize(2);
  view->engines[1].address = UpstreamAddress{"127.0.0.1", 9};
  std::promise<void> done;
  loop_.PostFleet(view, [&] { done.set_value(); });
  done.get_future().wait();
  OnLoop([this] {
    EXPECT_EQ(loop_.PoolOf(ReplicaId(0)), nullptr);
    EXPECT_EQ(loop_.PoolOf(ReplicaId(7)), nullptr);
    const std::shared_ptr<UpstreamPool> pool = loop_.PoolOf(ReplicaId(1));
    ASSERT_NE(pool, nullptr);
    EXPECT_EQ(pool, loop_.PoolOf(ReplicaId(1))) << "a replica keeps its pool";
    EXPECT_EQ(pool->address().port, 9);
  });
  loop_.Stop();
}

TEST_F(EventLoops, OnlyIdleConnectionsAreClosedWhenAsked) {
  loop_.Start();
  std::unique_ptr<Connection> idle;
  std::unique_ptr<Connection> busy;
  OnLoop([&] {
    idle = std::make_unique<Connection>(loop_);
    busy = std::make_unique<Connection>(loop_);
    busy->idle = false;
    loop_.connections().CloseIdle();
    EXPECT_EQ(idle->closed, 1);
    EXPECT_EQ(busy->closed, 0);
  });
  loop_.Stop();
  EXPECT_EQ(idle->closed, 1) << "it had left";
  EXPECT_EQ(busy->closed, 1) << "the end of the loop closes the rest";
}

// A connection's coroutine, or a guest's, may need some turns of the loop to end.
TEST_F(EventLoops, TheEndWaitsForConnectionsAndGuestsToLeave) {
  loop_.Start();
  std::unique_ptr<Connection> slow;
  OnLoop([&] {
    slow = std::make_unique<Connection>(loop_);
    slow->leaves = false;
    loop_.connections().EnterGuest();
  });
  bool left = false;
  std::thread stopping([this] { loop_.Stop(); });
  // The loop still runs what is posted while something is left in it.
  OnLoop([&] { loop_.connections().Leave(*slow); });
  OnLoop([&] {
    left = true;
    loop_.connections().LeaveGuest();
  });
  stopping.join();
  EXPECT_TRUE(left);
}

}  // namespace
}  // namespace penstock
