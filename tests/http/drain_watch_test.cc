#include "router/http/socket/drain_watch.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Instant At(double seconds) { return Instant::FromSeconds(100 + seconds); }

LimitsConfig Limits() {
  LimitsConfig limits;
  limits.write_timeout = Duration::Seconds(60);
  limits.min_answer_rate = Bytes(1000);
  limits.answer_timeout = Duration::Seconds(300);
  return limits;
}

TEST(DrainWatch, AClientThatTakesItsBytesMayPauseForTheWriteTimeout) {
  DrainWatch watch(Limits());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(watch.BeginWait(At(10 * i), 0), Duration::Seconds(60));
    watch.EndWait(At(10 * i + 5), 100'000);
  }
}

TEST(DrainWatch, ADrainLeavesAQuarterOfItsTime) {
  LimitsConfig limits = Limits();
  limits.drain_timeout = Duration::Seconds(40);
  DrainWatch watch(limits);
  EXPECT_EQ(watch.Hurry(At(0)), std::nullopt) << "nobody waits";
  EXPECT_EQ(watch.BeginWait(At(0), 0), Duration::Seconds(10));
  watch.EndWait(At(1), 100'000);
  DrainWatch waiting(limits);
  EXPECT_EQ(waiting.BeginWait(At(0), 0), Duration::Seconds(60));
  EXPECT_FALSE(waiting.hurried());
  EXPECT_EQ(waiting.Hurry(At(30)), Duration::Seconds(10));
  EXPECT_TRUE(waiting.hurried());
  waiting.EndWait(At(31), 0);
  EXPECT_EQ(waiting.Hurry(At(31)), std::nullopt);
  limits.drain_timeout = Duration::Seconds(4000);
  DrainWatch patient(limits);
  patient.Hurry(At(0));
  EXPECT_EQ(patient.BeginWait(At(0), 0), Duration::Seconds(60)) << "the write timeout is shorter";
}

TEST(DrainWatch, ADripIsTooSlowOnceItsGraceIsOver) {
  DrainWatch watch(Limits());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(watch.BeginWait(At(10 * i), 0), Duration::Seconds(60 - 10 * i));
    watch.EndWait(At(10 * i + 10), 0);
  }
  EXPECT_LE(watch.BeginWait(At(60), 0), Duration());
}

TEST(DrainWatch, ADripWithSomeBytesGetsTheTimeOfItsBytes) {
  DrainWatch watch(Limits());
  watch.BeginWait(At(0), 0);
  watch.EndWait(At(50), 10'000);
  EXPECT_EQ(watch.BeginWait(At(50), 0), Duration::Seconds(20));
}

TEST(DrainWatch, TimeInWhichTheRouterDoesNotWaitIsFree) {
  DrainWatch watch(Limits());
  watch.BeginWait(At(0), 0);
  watch.EndWait(At(30), 0);
  EXPECT_EQ(watch.BeginWait(At(200), 0), Duration::Seconds(30));
}

TEST(DrainWatch, OneAnswerEndsAndTheNextBeginsAnew) {
  DrainWatch watch(Limits());
  watch.BeginWait(At(0), 0);
  watch.EndWait(At(1), 1'000'000'000);
  EXPECT_EQ(watch.BeginWait(At(290), 0), Duration::Seconds(10));
  watch.EndWait(At(299), 1);
  EXPECT_LE(watch.BeginWait(At(300), 0), Duration());
  watch.BeginAnswer();
  EXPECT_EQ(watch.BeginWait(At(301), 0), Duration::Seconds(60));
}

TEST(DrainWatch, AWaitGoesOnWhileTheKernelsBytesBecomeFewer) {
  DrainWatch watch(Limits());
  EXPECT_EQ(watch.BeginWait(At(0), 500'000), Duration::Seconds(60));
  EXPECT_EQ(watch.GoOn(At(60), 400'000), Duration::Seconds(60));
  EXPECT_EQ(watch.GoOn(At(120), 399'999), Duration::Nanoseconds(40'001'000'000));  // 100,001 bytes of 1,000 a second.
  EXPECT_LE(watch.GoOn(At(160), 399'999), Duration());
}

TEST(DrainWatch, AWaitThatGoesOnKeepsTheLeastRateAndTheLongestTime) {
  DrainWatch slow(Limits());
  slow.BeginWait(At(0), 500'000);
  EXPECT_LE(slow.GoOn(At(61), 499'500), Duration());
  DrainWatch steady(Limits());
  steady.BeginWait(At(0), 500'000'000);
  for (int i = 1; i < 6; ++i) EXPECT_GT(steady.GoOn(At(50 * i), 500'000'000 - 1'000'000 * i), Duration());
  EXPECT_LE(steady.GoOn(At(300), 1), Duration());
}

TEST(DrainWatch, ABytePassesTheRateOnce) {
  DrainWatch watch(Limits());
  watch.BeginWait(At(0), 50'000);
  watch.GoOn(At(60), 20'000);
  watch.EndWait(At(70), 40'000);  // 30,000 of them were counted.
  EXPECT_EQ(watch.BeginWait(At(70), 50'000), Duration::Seconds(30));
}

TEST(DrainWatch, NoRateIsNoBound) {
  LimitsConfig limits = Limits();
  limits.min_answer_rate = Bytes(0);
  DrainWatch watch(limits);
  watch.BeginWait(At(0), 0);
  watch.EndWait(At(100), 1);
  EXPECT_EQ(watch.BeginWait(At(100), 0), Duration::Seconds(60));
}

}  // namespace
}  // namespace penstock
