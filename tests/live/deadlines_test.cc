#include "router/live/deadlines.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <random>
#include <vector>

#include "base/clock.h"

namespace penstock {
namespace {

class Deadlines : public testing::Test {
 protected:
  void RunUntil(const std::function<bool()>& done) {
    list_.Start();
    const Instant limit = Now() + Duration::Seconds(20);
    while (!done() && Now() < limit) io_.run_one();
    list_.Stop();
  }

  boost::asio::io_context io_;
  DeadlineList list_{io_};
};

TEST_F(Deadlines, FireOnceAndNeverEarly) {
  constexpr int kCount = 300;
  std::mt19937_64 random(3);
  std::vector<Instant> due(kCount);
  std::vector<int> fired(kCount);
  std::vector<std::unique_ptr<CoarseDeadline>> deadlines;
  int left = kCount;
  int early = 0;
  for (int i = 0; i < kCount; ++i) {
    deadlines.push_back(std::make_unique<CoarseDeadline>(list_, [&, i] {
      early += Now() < due[i] ? 1 : 0;
      ++fired[i];
      --left;
    }));
    const auto after = Duration::Milliseconds(static_cast<int64_t>(random() % 150));
    due[i] = Now() + after;
    deadlines.back()->Arm(after);
  }
  RunUntil([&] { return left == 0; });
  EXPECT_EQ(left, 0);
  EXPECT_EQ(early, 0);
  EXPECT_EQ(fired, std::vector<int>(kCount, 1));
}

TEST_F(Deadlines, TheLastArmCounts) {
  Instant later_due;
  bool earlier_fired = false;
  bool later_fired = false;
  bool disarmed_fired = false;
  CoarseDeadline later(list_, [&] {
    EXPECT_GE(Now(), later_due);
    later_fired = true;
  });
  CoarseDeadline earlier(list_, [&] {
    EXPECT_FALSE(later_fired);
    earlier_fired = true;
  });
  CoarseDeadline disarmed(list_, [&] { disarmed_fired = true; });
  later.Arm(Duration::Milliseconds(30));
  later_due = Now() + Duration::Milliseconds(200);
  later.Arm(Duration::Milliseconds(200));
  earlier.Arm(Duration::Seconds(100));
  earlier.Arm(Duration::Milliseconds(30));
  disarmed.Arm(Duration::Milliseconds(30));
  disarmed.Disarm();
  RunUntil([&] { return later_fired; });
  EXPECT_TRUE(earlier_fired);
  EXPECT_TRUE(later_fired);
  EXPECT_FALSE(disarmed_fired);
}

// Beyond the round of the list, one is looked at before it is due.
TEST_F(Deadlines, ALongOneIsNotForgotten) {
  const Instant due = Now() + Duration::Milliseconds(1900);
  bool fired = false;
  CoarseDeadline deadline(list_, [&] {
    EXPECT_GE(Now(), due);
    fired = true;
  });
  deadline.Arm(due - Now());
  RunUntil([&] { return fired; });
  EXPECT_TRUE(fired);
}

TEST_F(Deadlines, ACallbackMayArmAgainAndDestroyOthers) {
  int rounds = 0;
  bool destroyed_fired = false;
  std::vector<std::unique_ptr<CoarseDeadline>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<CoarseDeadline>(list_, [&] { destroyed_fired = true; }));
  }
  std::unique_ptr<CoarseDeadline> again;
  again = std::make_unique<CoarseDeadline>(list_, [&] {
    others.clear();
    if (++rounds < 5) again->Arm(Duration::Milliseconds(1));
  });
  again->Arm(Duration::Milliseconds(1));
  for (const auto& other : others) other->Arm(Duration::Milliseconds(1));
  RunUntil([&] { return rounds == 5; });
  EXPECT_EQ(rounds, 5);
  EXPECT_FALSE(destroyed_fired);
}

}  // namespace
}  // namespace penstock
