#include "router/http/drain_watch.h"

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
    EXPECT_EQ(watch.BeginWait(At(10 * i)), Duration::Seconds(60));
    watch.EndWait(At(10 * i + 5), 100'000);
  }
}

TEST(DrainWatch, ADripIsTooSlowOnceItsGraceIsOver) {
  DrainWatch watch(Limits());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(watch.BeginWait(At(10 * i)), Duration::Seconds(60 - 10 * i));
    watch.EndWait(At(10 * i + 10), 0);
  }
  EXPECT_LE(watch.BeginWait(At(60)), Duration());
}

TEST(DrainWatch, ADripWithSomeBytesGetsTheTimeOfItsBytes) {
  DrainWatch watch(Limits());
  watch.BeginWait(At(0));
  watch.EndWait(At(50), 10'000);
  EXPECT_EQ(watch.BeginWait(At(50)), Duration::Seconds(20));
}

TEST(DrainWatch, TimeInWhichTheRouterDoesNotWaitIsFree) {
  DrainWatch watch(Limits());
  watch.BeginWait(At(0));
  watch.EndWait(At(30), 0);
  EXPECT_EQ(watch.BeginWait(At(200)), Duration::Seconds(30));
}

TEST(DrainWatch, OneAnswerEndsAndTheNextBeginsAnew) {
  DrainWatch watch(Limits());
  watch.BeginWait(At(0));
  watch.EndWait(At(1), 1'000'000'000);
  EXPECT_EQ(watch.BeginWait(At(290)), Duration::Seconds(10));
  watch.EndWait(At(299), 1);
  EXPECT_LE(watch.BeginWait(At(300)), Duration());
  watch.BeginAnswer();
  EXPECT_EQ(watch.BeginWait(At(301)), Duration::Seconds(60));
}

TEST(DrainWatch, NoRateIsNoBound) {
  LimitsConfig limits = Limits();
  limits.min_answer_rate = Bytes(0);
  DrainWatch watch(limits);
  watch.BeginWait(At(0));
  watch.EndWait(At(100), 1);
  EXPECT_EQ(watch.BeginWait(At(100)), Duration::Seconds(60));
}

}  // namespace
}  // namespace penstock
