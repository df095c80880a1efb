#include "router/tracing/export_rules.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Kind = ExportRules::Step::Kind;

TEST(ExportRules, SuccessIsTheEnd) {
  ExportRules rules;
  EXPECT_EQ(rules.After(200, "", 0).kind, Kind::kDone);
  EXPECT_EQ(rules.After(202, "", 0).kind, Kind::kDone);
}

TEST(ExportRules, OnlyWhatMayPassIsTriedAgain) {
  for (const int status : {0, 429, 502, 503, 504}) {
    ExportRules rules;
    EXPECT_EQ(rules.After(status, "", 0).kind, Kind::kAgain) << status;
  }
  for (const int status : {301, 400, 401, 403, 404, 413, 500, 501}) {
    ExportRules rules;
    EXPECT_EQ(rules.After(status, "", 0).kind, Kind::kGiveUp) << status;
  }
}

TEST(ExportRules, PausesDoubleAndTheBatchIsGivenUp) {
  ExportRules rules;
  EXPECT_EQ(rules.After(503, "", 1).pause, Duration::Seconds(1));
  EXPECT_EQ(rules.After(503, "", 1).pause, Duration::Seconds(2));
  EXPECT_EQ(rules.After(503, "", 0).pause, Duration::Seconds(2));
  EXPECT_EQ(rules.After(503, "", 1).pause, Duration::Seconds(8));
  EXPECT_EQ(rules.After(503, "", 1).kind, Kind::kGiveUp);
}

TEST(ExportRules, TheCollectorsWordAboutThePauseCounts) {
  ExportRules rules;
  EXPECT_EQ(rules.After(429, "7", 0.5).pause, Duration::Seconds(7));
  EXPECT_EQ(rules.After(429, "86400", 0.5).pause, ExportRules::kLongestPause);
  EXPECT_EQ(rules.After(429, "Wed, 21 Oct 2015 07:28:00 GMT", 1).pause, Duration::Seconds(4));
}

TEST(RetryAfter, IsAWholeNumberOfSeconds) {
  EXPECT_EQ(ParseRetryAfter(" 12 "), Duration::Seconds(12));
  for (const char* bad : {"", "-1", "1.5", "soon"}) EXPECT_FALSE(ParseRetryAfter(bad)) << bad;
}

}  // namespace
}  // namespace penstock
