#include "bench/figures/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace penstock::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr Duration kRun = Duration::Seconds(10);
constexpr Goals kGoals{Duration::Seconds(1), Duration::Milliseconds(100)};

// A finished request whose tokens came at these seconds.
RequestRecord Finished(double arrival, const std::vector<double>& tokens, int64_t prompt = 100) {
  RequestRecord record;
  record.arrival = Duration::Seconds(arrival);
  record.goals = kGoals;
  record.prompt = Tokens(prompt);
  record.model = "m";
  record.tenant = "t";
  record.fate = Fate::kFinished;
  record.tokens = TokenTally(record.arrival, kGoals, kRun);
  for (double at : tokens) record.tokens.Add(Duration::Seconds(at));
  record.end = tokens.empty() ? record.arrival : Duration::Seconds(tokens.back());
  return record;
}

RequestRecord Refused(double arrival, const std::string& reason, int64_t prompt = 100) {
  RequestRecord record = Finished(arrival, {}, prompt);
  record.fate = Fate::kRefused;
  record.reason = reason;
  return record;
}

TEST(Results, ATokenIsActiveUntilTheInstantItIsDue) {
  // Due at 1.0, 1.1, 1.2.
  const RequestRecord exact = Finished(0, {1.0, 1.1, 1.2});
  const RequestRecord one_late = Finished(0, {1.0, 1.101, 1.2});

  EXPECT_EQ(exact.ActiveTokens(), 3);
  EXPECT_TRUE(exact.OnTime());
  EXPECT_EQ(one_late.ActiveTokens(), 2);
  EXPECT_FALSE(one_late.OnTime());
}

TEST(Results, TokensDeliveredTogetherHaveTheirOwnDueTimes) {
  RequestRecord record = Finished(0, {});
  record.tokens.Add(Duration::Seconds(1.15), 4);  // Due at 1.0, 1.1, 1.2, 1.3.

  EXPECT_EQ(record.tokens.timely(), 2);
}

TEST(Results, TokensOfRequestsThatDidNotEndWellAreAbandoned) {
  RequestRecord broken = Finished(0, {0.5, 0.6});
  broken.fate = Fate::kFailed;
  broken.reason = "stream broken";

  const Results results = Summarise({broken, Finished(0, {0.5})}, kRun);

  EXPECT_DOUBLE_EQ(results.active_tokens_per_s, 0.1);
  EXPECT_DOUBLE_EQ(results.abandoned_tokens_per_s, 0.2);
  EXPECT_DOUBLE_EQ(results.total_tokens_per_s, 0.3);
  EXPECT_THAT(results.failed, ElementsAre(Pair("stream broken", 1)));
}

TEST(Results, ActiveCountsWheneverDeliveredAndTotalOnlyWithinTheRun) {
  // The last two tokens come after the run's end.
  const Results results = Summarise({Finished(9, {9.5, 9.9, 10.05, 10.1})}, kRun);

  EXPECT_DOUBLE_EQ(results.active_tokens_per_s, 0.4);
  EXPECT_DOUBLE_EQ(results.goodput_tokens_per_s, 0.4);
  EXPECT_DOUBLE_EQ(results.total_tokens_per_s, 0.2);
}

TEST(Results, ActiveTokensAreAPartOfAllTokensOfTheSameWindow) {
  RequestRecord gone = Finished(8, {8.5, 9.5, 10.5});
  gone.fate = Fate::kFailed;
  gone.reason = "client_gone";
  // The later tokens of the first two are late. Two answers end after the run.
  const Results results = Summarise({Finished(9, {9.5, 10.2, 10.3}), Finished(0, {0.5, 3.0}), gone}, kRun);

  EXPECT_DOUBLE_EQ(results.answered_tokens_per_s, 0.8);
  EXPECT_DOUBLE_EQ(results.active_tokens_per_s, 0.2) << "the first tokens of the two answers that ended well";
  EXPECT_LE(results.active_tokens_per_s, results.answered_tokens_per_s);
  EXPECT_DOUBLE_EQ(results.delivered_active_tokens_per_s, 0.2);
  EXPECT_DOUBLE_EQ(results.total_tokens_per_s,
                   results.delivered_active_tokens_per_s + results.late_tokens_per_s + results.abandoned_tokens_per_s);
}

TEST(Results, WastedTokensHaveTheirCause) {
  RequestRecord gone = Finished(0, {0.5, 0.6});
  gone.fate = Fate::kFailed;
  gone.reason = "client_gone";
  RequestRecord open = Finished(0, {0.5});
  open.fate = Fate::kFailed;

  EXPECT_THAT(Summarise({gone, open, Finished(0, {0.5, 3.0, 3.0})}, kRun).wasted_tokens_per_s,
              ElementsAre(Pair("client_gone", 0.2), Pair("late", 0.2), Pair("unfinished", 0.1)));
}

TEST(Results, LateTokensAreThoseOfFinishedRequestsAfterTheirDueTime) {
  // Due at 1.0, 1.1, 1.2 and 9.5 (which arrives outside the run).
  const Results results = Summarise({Finished(0, {1.5, 1.6, 1.7}), Finished(8.5, {10.5})}, kRun);

  EXPECT_DOUBLE_EQ(results.late_tokens_per_s, 0.3);
  EXPECT_DOUBLE_EQ(results.active_tokens_per_s, 0);
}

TEST(Results, GoodputCountsWholeRequestsOnly) {
  const Results results = Summarise({Finished(0, {1.0, 1.1, 1.2}), Finished(0, {1.0, 1.1, 1.3})}, kRun);

  EXPECT_DOUBLE_EQ(results.active_tokens_per_s, 0.5);
  EXPECT_DOUBLE_EQ(results.goodput_tokens_per_s, 0.3);
  EXPECT_DOUBLE_EQ(results.on_time_share, 0.5);
}

TEST(Results, TheOnTimeShareIsOverOfferedRequests) {
  const Results results =
      Summarise({Finished(0, {0.5}), Refused(1, "queue_full"), Refused(2, "deadline"), Refused(3, "deadline")}, kRun);

  EXPECT_EQ(results.offered, 4);
  EXPECT_EQ(results.finished, 1);
  EXPECT_EQ(results.RefusedCount(), 3);
  EXPECT_THAT(results.refused, ElementsAre(Pair("deadline", 2), Pair("queue_full", 1)));
  EXPECT_DOUBLE_EQ(results.on_time_share, 0.25);
}

TEST(Results, AnAnswerWithoutTokensIsOnTimeWithinTheTtftGoal) {
  RequestRecord embedding = Finished(0, {});
  embedding.end = Duration::Seconds(0.9);
  EXPECT_TRUE(embedding.OnTime());
  embedding.end = Duration::Seconds(1.1);
  EXPECT_FALSE(embedding.OnTime());
}

TEST(Results, QuartilesHaveEqualCountsByPromptLength) {
  std::vector<RequestRecord> records;
  for (int64_t prompt : {800, 100, 700, 200, 600, 300, 500, 400}) {
    records.push_back(prompt <= 200 ? Refused(0, "deadline", prompt) : Finished(0, {0.5}, prompt));
  }

  const Results results = Summarise(records, kRun);

  for (const char* name : {"q1", "q2", "q3", "q4"}) EXPECT_EQ(results.per_prompt_quartile.at(name).offered, 2) << name;
  EXPECT_EQ(results.per_prompt_quartile.at("q1").refused, 2);
  EXPECT_DOUBLE_EQ(results.per_prompt_quartile.at("q1").on_time_share, 0);
  EXPECT_DOUBLE_EQ(results.per_prompt_quartile.at("q4").on_time_share, 1);
  EXPECT_DOUBLE_EQ(results.per_prompt_quartile.at("q4").active_tokens_per_s, 0.2);
}

TEST(Results, PercentilesAreNearestRanks) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);

  const auto percentiles = PercentilesOf(samples);

  ASSERT_TRUE(percentiles.has_value());
  EXPECT_DOUBLE_EQ(percentiles->p50, 50);
  EXPECT_DOUBLE_EQ(percentiles->p90, 90);
  EXPECT_DOUBLE_EQ(percentiles->p99, 99);
  EXPECT_FALSE(PercentilesOf({}).has_value());
  EXPECT_DOUBLE_EQ(PercentilesOf({7.0})->p99, 7);
}

TEST(Results, TtftIsFromArrivalAndTpotFromTheFirstToLastToken) {
  const Results results = Summarise({Finished(2, {2.5, 2.6, 2.9})}, kRun);

  EXPECT_NEAR(results.ttft_s->p50, 0.5, 1e-9);
  EXPECT_NEAR(results.tpot_s->p50, 0.2, 1e-9);
  EXPECT_FALSE(results.queue_wait_s.has_value());
}

TEST(Results, TheWaitOfARefusedRequestIsFromItsArrivalToTheRefusal) {
  RequestRecord refused = Refused(2, "deadline");
  refused.end = Duration::Seconds(2.25);
  const Results results = Summarise({refused, Finished(0, {0.5})}, kRun);
  EXPECT_NEAR(results.refused_wait_s->p50, 0.25, 1e-9);
  EXPECT_FALSE(Summarise({Finished(0, {0.5})}, kRun).refused_wait_s.has_value());
}

TEST(Results, TheJsonHasEveryNameAndNullForTheUnknown) {
  const auto json =
      nlohmann::json::parse(ResultsJson(Summarise({Finished(0, {0.5, 0.6}), Refused(0, "deadline")}, kRun)));

  for (const char* name : {"offered",
                           "finished",
                           "refused",
                           "on_time_share",
                           "active_tokens_per_s",
                           "goodput_tokens_per_s",
                           "total_tokens_per_s",
                           "late_tokens_per_s",
                           "abandoned_tokens_per_s",
                           "recomputed_tokens_per_s",
                           "answered_tokens_per_s",
                           "delivered",
                           "wasted_tokens_per_s",
                           "preemptions",
                           "ttft_s",
                           "tpot_s",
                           "queue_wait_s",
                           "refused_wait_s",
                           "per_class",
                           "per_tenant",
                           "per_model",
                           "per_replica",
                           "per_prompt_quartile",
                           "forecast"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
  EXPECT_TRUE(json["preemptions"].is_null());
  EXPECT_TRUE(json["queue_wait_s"]["p99"].is_null());
  EXPECT_EQ(json["refused"]["deadline"], 1);
  EXPECT_EQ(json["per_class"]["standard"]["refused"], 1);
  EXPECT_DOUBLE_EQ(json["per_tenant"]["t"]["on_time_share"], 0.5);
  EXPECT_DOUBLE_EQ(json["per_tenant"]["t"]["ttft_s"]["p99"], 0.5);
  EXPECT_EQ(json["per_tenant"]["t"]["tpot_s"], json["tpot_s"]);
  EXPECT_TRUE(json["per_replica"].is_object());
}

TEST(Results, NamesThatAreNotUtf8DoNotBreakTheJson) {
  RequestRecord record = Finished(0, {0.5});
  record.tenant = "\xff";

  EXPECT_TRUE(nlohmann::json::accept(ResultsJson(Summarise({record}, kRun))));
}

TEST(Results, ManyTenantsAreWritten) {
  Results results;
  for (int i = 0; i < 100'000; ++i) results.per_tenant["tenant-" + std::to_string(i)].offered = i;

  // The square would take longer than the runner gives this binary under a sanitizer.
  const std::string text = ResultsJson(results);

  EXPECT_THAT(text, HasSubstr(R"("tenant-99999":{"offered":99999,)"));
}

TEST(Results, TheTableNamesReasonsAndQuartiles) {
  const std::string table = ResultsTable(Summarise({Finished(0, {0.5}), Refused(0, "deadline")}, kRun));

  EXPECT_THAT(table, HasSubstr("1 deadline"));
  EXPECT_THAT(table, HasSubstr("q4"));
  EXPECT_THAT(table, HasSubstr("active tokens/s          0.1 of 0.1, by requests that arrived in the run"));
  EXPECT_THAT(table, HasSubstr("delivered tokens/s       0.1: active 0.1, late 0.0, abandoned 0.0"));
}

TEST(Results, ARunWithoutRequestsHasZeroes) {
  const Results results = Summarise({}, kRun);

  EXPECT_EQ(results.offered, 0);
  EXPECT_DOUBLE_EQ(results.on_time_share, 0);
  EXPECT_TRUE(nlohmann::json::accept(ResultsJson(results)));
}

}  // namespace
}  // namespace penstock::bench
