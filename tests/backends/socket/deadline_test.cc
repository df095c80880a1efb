#include "backends/socket/deadline.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace penstock {
namespace {

class DeadlineTest : public testing::Test {
 protected:
  boost::asio::io_context loop_;
  int expiries_ = 0;
  Deadline deadline_{loop_, [this] { ++expiries_; }};
};

TEST_F(DeadlineTest, ExpiresOnceAfterItsTime) {
  deadline_.Arm(Duration::Milliseconds(1));
  loop_.run();
  EXPECT_EQ(expiries_, 1);
  EXPECT_TRUE(deadline_.expired());
}

TEST_F(DeadlineTest, ADisarmedOneDoesNotExpire) {
  deadline_.Arm(Duration::Milliseconds(1));
  deadline_.Disarm();
  loop_.run();
  EXPECT_EQ(expiries_, 0);
  EXPECT_FALSE(deadline_.expired());
}

TEST_F(DeadlineTest, AnEarlierPointReplacesTheTimerAndALaterOneWaitsOn) {
  deadline_.Arm(Duration::Seconds(1000));
  deadline_.Arm(Duration::Milliseconds(1));
  loop_.run();
  EXPECT_EQ(expiries_, 1);
  loop_.restart();
  deadline_.Arm(Duration::Milliseconds(1));
  deadline_.Arm(Duration::Milliseconds(3));
  EXPECT_FALSE(deadline_.expired()) << "Arm() begins a new deadline";
  loop_.run();
  EXPECT_EQ(expiries_, 2);
}

TEST_F(DeadlineTest, AnInfiniteTimeoutNeedsNoTimer) {
  deadline_.Arm(Duration::Infinite());
  EXPECT_EQ(loop_.run(), 0u);
}

TEST(Deadline, ThoseOfALoopExpireInTheOrderOfTheirTimes) {
  boost::asio::io_context loop;
  std::vector<int> order;
  Deadline third(loop, [&] { order.push_back(3); });
  Deadline first(loop, [&] {
    order.push_back(1);
    third.Arm(Duration::Milliseconds(4));
  });
  Deadline second(loop, [&] { order.push_back(2); });
  second.Arm(Duration::Milliseconds(2));
  first.Arm(Duration::Milliseconds(1));
  loop.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Deadline, ItsExpiryMayDestroyItAndOthers) {
  boost::asio::io_context loop;
  int expiries = 0;
  std::unique_ptr<Deadline> other;
  std::unique_ptr<Deadline> self;
  self = std::make_unique<Deadline>(loop, [&] {
    ++expiries;
    other.reset();
    self.reset();
  });
  other = std::make_unique<Deadline>(loop, [&] { ++expiries; });
  self->Arm(Duration());
  other->Arm(Duration::Microseconds(1));
  loop.run();
  EXPECT_EQ(expiries, 1);
}

TEST(Deadline, MayBeDestroyedWhileItsTimerIsPendingOrDue) {
  boost::asio::io_context loop;
  int expiries = 0;
  {
    Deadline deadline(loop, [&] { ++expiries; });
    deadline.Arm(Duration());
  }
  loop.run();
  EXPECT_EQ(expiries, 0);
}

}  // namespace
}  // namespace penstock
