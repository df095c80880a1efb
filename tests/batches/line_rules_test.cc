#include "router/jobs/schedule/line_rules.h"

#include <gtest/gtest.h>

namespace penstock::jobs {
namespace {

LineResult Status(int status) { return {.status = status}; }

TEST(LineRules, AnAnswerIsFinal) { EXPECT_EQ(EndOf(Status(200), 0), LineEnd::kAnswered); }

TEST(LineRules, AFaultOfTheLineIsFinal) {
  for (const int status : {400, 401, 404, 413, 422, 501})
    EXPECT_EQ(EndOf(Status(status), 0), LineEnd::kFailed) << status;
}

TEST(LineRules, ARefusalIsNeverTheAnswer) {
  for (const int status : {408, 429, 502, 503, 504, 529})
    EXPECT_EQ(EndOf(Status(status), 100), LineEnd::kAgain) << status;
}

TEST(LineRules, ALineWaitsForAReplicaThatNobodyHeardYet) {
  for (const LineResult& refused :
       {LineResult{.status = 404, .lacks_model = true}, {.status = 400, .lacks_room = true}}) {
    EXPECT_TRUE(IsAwaited(refused, /*misses_replicas=*/true, /*served=*/false));
    EXPECT_FALSE(IsAwaited(refused, /*misses_replicas=*/false, /*served=*/false));
    LineResult awaited = refused;
    awaited.awaited = true;
    EXPECT_EQ(EndOf(awaited, 0), LineEnd::kAgain);
  }
  EXPECT_FALSE(IsAwaited(Status(400), /*misses_replicas=*/true, /*served=*/true)) << "the line itself is at fault";
}

TEST(LineRules, ALineWaitsForAModelThatServedOthersOfItsBatch) {
  const LineResult no_model{.status = 404, .lacks_model = true};
  EXPECT_TRUE(IsAwaited(no_model, /*misses_replicas=*/false, /*served=*/true));
  const LineResult too_long{.status = 400, .lacks_room = true};
  EXPECT_FALSE(IsAwaited(too_long, /*misses_replicas=*/false, /*served=*/true)) << "it may be so for ever";
}

TEST(LineRules, ALineWithoutAnAnswerGoesBack) { EXPECT_EQ(EndOf(LineResult(), 0), LineEnd::kReturned); }

TEST(LineRules, ALineThatFailsEnginesIsGivenUpAtLast) {
  const LineResult fault{.status = 502, .engine_fault = true};
  int faults = 0;
  int runs = 0;
  do {
    faults += FaultsOf(fault);
    ++runs;
  } while (EndOf(fault, faults) == LineEnd::kAgain);
  EXPECT_EQ(runs, kMostFaults);
  EXPECT_EQ(EndOf(fault, faults), LineEnd::kFailed);
}

TEST(LineRules, ARunThatCostSeveralEnginesCountsMore) {
  const LineResult fault{.status = 502, .never_retry = true, .engine_fault = true};
  EXPECT_EQ(FaultsOf(fault), kCostly);
  EXPECT_EQ(EndOf(fault, kCostly), LineEnd::kAgain);
  EXPECT_EQ(EndOf(fault, 2 * kCostly), LineEnd::kFailed);
}

TEST(LineRules, ALineWhoseStreamMakesNoAnswerRunsOnceMore) {
  const LineResult fault{.status = 502, .engine_fault = true, .unfit = true};
  EXPECT_EQ(EndOf(fault, FaultsOf(fault)), LineEnd::kAgain);
  EXPECT_EQ(EndOf(fault, 2 * FaultsOf(fault)), LineEnd::kFailed);
}

TEST(LineRules, AnErrorThatForbidsAnotherRunIsFinal) {
  EXPECT_EQ(EndOf({.status = 503, .never_retry = true}, 0), LineEnd::kFailed);
}

}  // namespace
}  // namespace penstock::jobs
