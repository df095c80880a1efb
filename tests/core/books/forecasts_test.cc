#include "router/core/books/forecasts.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

class KnownLength : public OutputKnowledge {
 public:
  explicit KnownLength(bool in_growth) : in_growth_(in_growth) {}
  std::optional<Tokens> OutputOf(RequestId) const override { return Tokens(40); }
  bool InGrowth() const override { return in_growth_; }

 private:
  const bool in_growth_;
};

CoreRules Knowing(bool in_growth) {
  CoreRules rules;
  rules.outputs = std::make_unique<KnownLength>(in_growth);
  return rules;
}

RequestClosed Finished(uint64_t id, int64_t output, bool hit_limit = false) {
  return {RequestId(id), Outcome::kFinished, Tokens(0), Tokens(output), hit_limit};
}

TEST(Forecasts, AnOutputIsBoundByTheClientsLimitAndTheContext) {
  TestRooms test;
  RequestState* request = test.New(1, 40'000);
  EXPECT_EQ(test.MemberOf(*request).output_cap, 10'000);
  request->arrived.max_output = Tokens(300);
  EXPECT_EQ(test.MemberOf(*request).output_cap, 300);
  request->kept = Tokens(100);
  EXPECT_EQ(test.MemberOf(*request).output_cap - test.MemberOf(*request).generated, 200);
  request->kept = Tokens(0);
  request->arrived.embedding = true;
  EXPECT_EQ(test.MemberOf(*request).output_cap, 0);
}

TEST(Forecasts, AFatalPoolCountsAPromptAtItsUpperEndAndAnUnrepeatableRequestAtItsBound) {
  FleetOptions options;
  options.fatal = true;
  TestRooms test(options);
  RequestState* request = test.New(1, 1000);
  request->arrived.prompt_sigma = 0.1;
  EXPECT_NEAR(test.MemberOf(*request).prompt, 1164, 1e-9);
  EXPECT_NE(test.MemberOf(*request).curve, nullptr);
  request->arrived.regenerable = false;
  EXPECT_EQ(test.MemberOf(*request).curve, nullptr);
}

TEST(Forecasts, AKnownOutputBoundsGrowthOnlyWhereTheKnowledgeSaysSo) {
  TestRooms both(FleetOptions(), Knowing(true));
  const GrowthMember exact = both.MemberOf(*both.New(1, 100));
  EXPECT_EQ(exact.curve, nullptr);
  EXPECT_EQ(exact.output_cap, 40);
  TestRooms order_only(FleetOptions(), Knowing(false));
  RequestState* request = order_only.New(1, 100);
  EXPECT_NE(order_only.MemberOf(*request).curve, nullptr);
  EXPECT_EQ(order_only.rooms.forecasts.ExpectedOutput(*request), 40);
}

TEST(Forecasts, AStatedLimitBoundsTheExpectedOutput) {
  TestRooms test;
  RequestState* request = test.New(1, 100);
  EXPECT_GT(test.rooms.forecasts.ExpectedOutput(*request), 100);
  request->arrived.max_output = Tokens(2);
  EXPECT_LE(test.rooms.forecasts.ExpectedOutput(*request), 2);
}

TEST(Forecasts, AResumedAnswerIsForecastGivenTheTokensBefore) {
  TestRooms test;
  RequestState* request = test.New(1, 100);
  request->kept = Tokens(2000);
  const GrowthMember resumed = test.MemberOf(*request);
  EXPECT_EQ(resumed.prompt, 100);
  EXPECT_EQ(resumed.generated, 2000);
  RequestState* fresh = test.New(2, 2100);
  const GrowthVector after = ContributionOf(resumed);
  const GrowthVector before = ContributionOf(test.MemberOf(*fresh));
  EXPECT_EQ(after.mean[0], before.mean[0]) << "both hold the same tokens now";
  EXPECT_GT(after.mean[10], before.mean[10]) << "an answer that is long already goes on for longer";
}

TEST(Forecasts, AFinishedRequestIsScoredAgainstItsForecastAtAdmission) {
  TestRooms test;
  RequestState* request = test.Decoding(1, 100);
  test.rooms.forecasts.LearnFrom(request, Finished(1, 1), 1);
  CoreView view;
  test.rooms.forecasts.Show(view);
  EXPECT_EQ(view.counters.outputs_observed, 1);
  EXPECT_EQ(view.counters.outputs_below_p50, 1);
  EXPECT_GT(view.counters.pinball_p50, 0);
}

TEST(Forecasts, AnAnswerThatWasCutOrLostTeachesNoLength) {
  TestRooms test;
  RequestState* request = test.Decoding(1, 100);
  const double before = test.rooms.forecasts.ExpectedOutput(*request);
  RequestClosed gone = Finished(1, 5);
  gone.outcome = Outcome::kClientGone;
  test.rooms.forecasts.LearnFrom(request, gone, 5);
  CoreView view;
  test.rooms.forecasts.Show(view);
  EXPECT_EQ(view.counters.outputs_observed, 0);
  EXPECT_EQ(test.rooms.forecasts.ExpectedOutput(*request), before);
}

TEST(Forecasts, ShortAnswersShortenTheForecastOfTheirKind) {
  TestRooms test;
  const double before = test.rooms.forecasts.ExpectedOutput(*test.New(1000, 100));
  for (uint64_t id = 1; id <= 200; ++id) {
    test.rooms.forecasts.LearnFrom(test.Decoding(id, 100), Finished(id, 10), 10);
  }
  EXPECT_LT(test.rooms.forecasts.ExpectedOutput(*test.New(1001, 100)), before / 2);
}

}  // namespace
}  // namespace penstock::testing
