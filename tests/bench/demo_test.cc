#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "app/demo/demo_screen.h"
#include "app/demo/demo_stats.h"
#include "app/demo/demo_traffic.h"

namespace penstock::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Goals kDemoGoals{Duration::Seconds(1), Duration::Milliseconds(50)};

RequestRecord Record(Fate fate, const std::string& reason = "", double first_after = 0.2) {
  RequestRecord record;
  record.goals = kDemoGoals;
  record.service_class = "interactive";
  record.fate = fate;
  record.reason = reason;
  record.tokens = TokenTally(Duration(), kDemoGoals, Duration::Seconds(100));
  if (fate == Fate::kFinished) record.tokens.Add(Duration::Seconds(first_after), 1);
  return record;
}

TEST(DemoStats, TokensAreOverTheLastTenSeconds) {
  DemoStats stats;
  for (int second = 0; second < 20; ++second) stats.OnSettled(Record(Fate::kFinished), Duration::Seconds(second));
  stats.OnSettled(Record(Fate::kFinished, "", 3.0), Duration::Seconds(20));

  const DemoSnapshot snapshot = stats.Snapshot(Duration::Seconds(20));

  EXPECT_NEAR(snapshot.active_per_s, 1.0, 0.11);
  EXPECT_NEAR(snapshot.late_per_s, 0.1, 1e-9);
  EXPECT_EQ(snapshot.finished, 21);
  EXPECT_EQ(snapshot.on_time, 20);
  EXPECT_DOUBLE_EQ(stats.Snapshot(Duration::Seconds(60)).active_per_s, 0);
  EXPECT_FALSE(stats.Snapshot(Duration::Seconds(60)).ttft_s.has_value());
}

TEST(DemoLine, ShowsMemoryAndQueue) {
  DemoFrame frame;
  PoolView pool;
  pool.name = "chat-a";
  pool.capacity = Amount(4'000'000'000);
  pool.held = Amount(1'000'000'000);
  pool.promised = Amount(2'000'000'000);
  frame.core.pools = {pool};
  frame.core.lanes = {{"m", "interactive", 3, Duration::Seconds(1)}, {"n", "interactive", 2, Duration::Seconds(2)}};

  EXPECT_THAT(DemoLine(frame), HasSubstr("queue interactive 5 (oldest 2.0 s)"));
  EXPECT_THAT(DemoLine(frame), HasSubstr("chat-a 25/50%"));
  EXPECT_THAT(DemoLine(frame), Not(HasSubstr("\n")));
}

TEST(DemoLine, NamesRefusals) {
  DemoStats stats;
  stats.OnSettled(Record(Fate::kRefused, "deadline"), Duration());
  stats.OnSettled(Record(Fate::kRefused, "deadline"), Duration());
  DemoFrame frame;
  frame.stats = stats.Snapshot(Duration());

  EXPECT_THAT(DemoLine(frame), HasSubstr("refused 2 (deadline 2)"));
}

TEST(DemoLine, NamesReplicasThatSleep) {
  DemoFrame frame;
  EXPECT_THAT(DemoLine(frame), Not(HasSubstr("sleep")));
  ReplicaView rare;
  rare.name = "rare-b";
  rare.sleeps = true;
  rare.residency = Residency::kAsleep;
  rare.wakes_ordered = 3;
  rare.wake_time = 1.25;
  ReplicaView always;
  always.name = "chat-a";
  frame.core.replicas = {always, rare};
  EXPECT_THAT(DemoLine(frame), HasSubstr("sleep rare-b asleep, woke 3 times (1.2 s)"));
}

TEST(ContestText, PutsThePoliciesBesideEachOther) {
  EXPECT_EQ(ContestText({}), "");
  ComparisonRow penstock{"penstock", 200, 198, 2, 0, 1234.4, 0, 0.1, 0.75};
  ComparisonRow rival{"round_robin", 0, 0, 0, 0, 0, 0, std::nullopt, std::nullopt};
  EXPECT_EQ(ContestText({penstock, rival}),
            "same traffic  penstock: on time 99.0%  active 1234 tok/s  ttft p99 0.75 s   "
            "round_robin: on time 0.0%  active 0 tok/s");
}

TEST(DemoTraffic, FourKindsArriveInOrderWithBursts) {
  const auto streams = DemoTraffic({"chat", "code", "reason", "rare"}, Duration::Seconds(600), 5);

  ASSERT_EQ(streams.size(), 4u);
  for (const DemoStream& stream : streams) {
    EXPECT_TRUE(std::is_sorted(stream.trace.requests.begin(), stream.trace.requests.end(),
                               [](const auto& a, const auto& b) { return a.arrival < b.arrival; }))
        << stream.service_class;
    EXPECT_EQ(stream.trace.length, Duration::Seconds(600));
  }
  // 6 req/s, and 36 req/s for 6 of every 30 s: 12 req/s.
  EXPECT_NEAR(static_cast<double>(streams[0].trace.requests.size()) / 600, 12, 0.8);
  EXPECT_NEAR(static_cast<double>(streams[1].trace.requests.size()) / 600, 3.0, 0.4);
  EXPECT_EQ(streams[2].service_class, "background");
  EXPECT_NEAR(static_cast<double>(streams[3].trace.requests.size()), 50, 25);
}

}  // namespace
}  // namespace penstock::bench
