#include "backends/health/reread_times.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock {
namespace {

constexpr Duration kPoll = Duration::Milliseconds(250);

Instant Moment(double seconds) { return Instant::FromSeconds(seconds); }

RereadTimes Discovered(uint64_t seed = 1) {
  RereadTimes times(seed);
  times.OnDiscovery(Moment(100), kPoll);
  times.OnGoodPoll(1000, 5);
  return times;
}

// The first quarter of a second in which a reading is due.
double NextOf(const RereadTimes& times, double from) {
  double next = from;
  while (!times.Due(Moment(next))) next += kPoll.seconds();
  return next;
}

TEST(RereadTimes, ADoubtIsReadAgainAfterTheLeastPauseHoweverOftenItIsTold) {
  RereadTimes times = Discovered();
  for (double at = 101; at < 104; at += 0.25) {
    times.OnDoubt(Moment(at));
    EXPECT_FALSE(times.Due(Moment(at))) << at;
  }
  EXPECT_TRUE(times.Due(Moment(104)));
  times.OnReread(Moment(104), kPoll);
  EXPECT_FALSE(times.Due(Moment(108)));
}

TEST(RereadTimes, AQuietEngineIsReadAgainEveryHalfMinuteAndReplicasAtTimesOfTheirOwn) {
  std::set<double> pauses;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RereadTimes times = Discovered(seed);
    double read = 100;
    for (int i = 0; i < 5; ++i) {
      const double next = NextOf(times, read);
      EXPECT_GE(next - read, 22);
      EXPECT_LE(next - read, 38);
      pauses.insert(next - read);
      times.OnReread(Moment(next), kPoll);
      read = next;
    }
  }
  EXPECT_GT(pauses.size(), 40u);
}

TEST(RereadTimes, QuickPollsMakeQuickReadingsAndSlowPollsDoNotMakeSlowOnes) {
  RereadTimes quick(1);
  quick.OnDiscovery(Moment(0), Duration::Milliseconds(50));
  EXPECT_LE(NextOf(quick, 0), 7.75);
  RereadTimes slow(1);
  slow.OnDiscovery(Moment(0), Duration::Seconds(60));
  EXPECT_LE(NextOf(slow, 0), 38);
}

TEST(RereadTimes, ADeniedModelIsReasonForAReadingAtOnceAndForTheNextOneSecondsLater) {
  RereadTimes times = Discovered();
  EXPECT_FALSE(times.Due(Moment(101)));
  times.OnModelDenied();
  EXPECT_TRUE(times.Due(Moment(101)));
  EXPECT_FALSE(times.recognise());
  times.OnReread(Moment(101), kPoll);
  times.OnModelDenied();
  EXPECT_FALSE(times.Due(Moment(103.9)));
  EXPECT_TRUE(times.Due(Moment(104)));
}

TEST(RereadTimes, CountsThatFellTellOfAnotherEngine) {
  for (const bool tokens : {false, true}) {
    RereadTimes times = Discovered();
    times.OnGoodPoll(1000, 5);
    EXPECT_FALSE(times.Due(Moment(101)));
    times.OnGoodPoll(-1, -1);
    EXPECT_FALSE(times.Due(Moment(101))) << "a count that is not reported is none";
    times.OnGoodPoll(1000, 5);
    times.OnGoodPoll(tokens ? 10 : 1000, tokens ? 5 : 0);
    EXPECT_TRUE(times.Due(Moment(101)));
    EXPECT_TRUE(times.recognise());
  }
}

TEST(RereadTimes, BehindAFailedPollTheEngineIsReadWithTheNextGoodOne) {
  RereadTimes times = Discovered();
  times.OnFailedPoll();
  EXPECT_FALSE(times.Due(Moment(101)));
  EXPECT_FALSE(times.Due(Moment(1000)));
  times.OnGoodPoll(1000, 5);
  EXPECT_TRUE(times.Due(Moment(101)));
  EXPECT_TRUE(times.recognise());
}

TEST(RereadTimes, AnEngineWithOtherPagesIsRecognisedAgainButInItsTurn) {
  RereadTimes times = Discovered();
  times.OnUnreadable();
  EXPECT_TRUE(times.recognise());
  EXPECT_FALSE(times.Due(Moment(101)));
}

}  // namespace
}  // namespace penstock
