// A hang is silence far beyond the time that the work explains; anything else is none.
#include "backends/health/hang_watch.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr Duration kLeast = Duration::Seconds(20);
// A second of prefill is ahead.
constexpr HangWatch::Work kBusy{3, Duration::Seconds(1)};

Instant AtSecond(double seconds) { return Instant::FromSeconds(seconds); }

HangWatch::Figures Still() {
  HangWatch::Figures figures;
  figures.tokens = 100;
  figures.running = 3;
  return figures;
}

// Polls every second from `from` to `to`, with figures that do not move. The time at which it hangs; -1: it does not.
double FoundAt(HangWatch& watch, double from, double to, const HangWatch::Work& work,
               const HangWatch::Figures& figures = Still()) {
  for (double now = from; now <= to; now += 1) {
    if (watch.HangsFor(figures, work, kLeast, AtSecond(now)) > Duration()) return now;
  }
  return -1;
}

TEST(HangWatch, SilenceBeyondTheLeastTimeAndFourTimesTheExplainedOneIsAHang) {
  HangWatch watch(AtSecond(0));
  EXPECT_EQ(FoundAt(watch, 0, 100, kBusy), 25);
  EXPECT_EQ(FoundAt(watch, 26, 100, kBusy), 50) << "told once, then the silence begins again";
}

TEST(HangWatch, ALongPrefillIsNoHang) {
  HangWatch watch(AtSecond(0));
  EXPECT_EQ(FoundAt(watch, 0, 260, {1, Duration::Seconds(60)}), -1);
  EXPECT_EQ(FoundAt(watch, 261, 400, {1, Duration::Seconds(60)}), 261);
}

TEST(HangWatch, ATokenOfAnyStreamIsASignOfWork) {
  HangWatch watch(AtSecond(0));
  EXPECT_EQ(FoundAt(watch, 0, 20, kBusy), -1);
  watch.OnToken(AtSecond(20));
  EXPECT_EQ(FoundAt(watch, 21, 44, kBusy), -1);
  watch.OnToken(AtSecond(3));
  EXPECT_EQ(FoundAt(watch, 45, 50, kBusy), 45) << "an older token says nothing new";
}

TEST(HangWatch, AnyFigureThatMovesIsASignOfWork) {
  for (int field = 0; field < 5; ++field) {
    HangWatch watch(AtSecond(0));
    EXPECT_EQ(FoundAt(watch, 0, 20, kBusy), -1);
    HangWatch::Figures moved = Still();
    moved.tokens += field == 0;
    moved.preemptions += field == 1;
    moved.running += field == 2;
    moved.waiting += field == 3;
    moved.kv_used_share += field == 4 ? 0.5 : 0;
    EXPECT_EQ(FoundAt(watch, 21, 100, kBusy, moved), 46) << field;
  }
}

TEST(HangWatch, AnIdleEngineDoesNotHangAndItsNextRequestHasAllItsTime) {
  HangWatch watch(AtSecond(0));
  EXPECT_EQ(FoundAt(watch, 0, 1000, {0, Duration::Seconds(1)}), -1);
  EXPECT_EQ(FoundAt(watch, 1001, 1100, kBusy), 1025);
}

TEST(HangWatch, UnknownStepTimesAndEnginesThatCountNoTokensAreNotJudged) {
  HangWatch watch(AtSecond(0));
  EXPECT_EQ(FoundAt(watch, 0, 1000, {3, Duration::Infinite()}), -1);
  HangWatch::Figures uncounted = Still();
  uncounted.tokens = -1;
  HangWatch other(AtSecond(0));
  EXPECT_EQ(FoundAt(other, 0, 1000, kBusy, uncounted), -1);
}

TEST(HangWatch, ARouterThatStoodStillSaysNothingOfItsEngines) {
  HangWatch watch(AtSecond(0));
  EXPECT_EQ(FoundAt(watch, 0, 5, kBusy), -1);
  EXPECT_EQ(FoundAt(watch, 300, 324, kBusy), -1);
}

}  // namespace
}  // namespace penstock
