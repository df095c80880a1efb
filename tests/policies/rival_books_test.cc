#include "router/policies/kit/rival_books.h"

#include <gtest/gtest.h>

#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

class RivalBooksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    books_.Configure(SmallFleet(2));
    for (uint32_t i = 0; i < 2; ++i) books_.SetHealth({ReplicaId(i), Health::kUp});
  }
  CoreView View() {
    CoreView view;
    books_.Show(books_.now(), view);
    return view;
  }
  RivalBooks books_;
};

TEST_F(RivalBooksTest, AForwardedRequestCountsUntilItEnds) {
  books_.Start(Stepper::Request(1, 100), Instant(), ReplicaId(0), Tokens(0));
  EXPECT_EQ(books_.replica(ReplicaId(0)).running, 1);
  EXPECT_EQ(books_.replica(ReplicaId(0)).prefilling, 1);
  EXPECT_EQ(View().pools[0].held, Amount(112));  // Whole blocks of 16.

  ASSERT_NE(books_.TakeFirstToken(RequestId(1)), nullptr);
  EXPECT_EQ(books_.TakeFirstToken(RequestId(1)), nullptr);
  EXPECT_EQ(books_.replica(ReplicaId(0)).prefilling, 0);

  ASSERT_TRUE(books_.End(RequestId(1)).has_value());
  EXPECT_FALSE(books_.End(RequestId(1)).has_value());
  EXPECT_EQ(books_.replica(ReplicaId(0)).running, 0);
  EXPECT_EQ(View().pools[0].held, Amount(0));
}

TEST_F(RivalBooksTest, TheServersOfAModelFollowTheFleet) {
  EXPECT_EQ(books_.ServersOf(ModelId(0)), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(books_.ServersOf(ModelId(1)), std::vector<size_t>{2});
  EXPECT_TRUE(books_.ServersOf(ModelId(2)).empty());
  EXPECT_TRUE(books_.ServersOf(ModelId(9)).empty());

  Fleet fleet = SmallFleet(3);
  fleet.replicas[0].removed = true;
  fleet.replicas[1].role = EngineRole::kPrefill;
  fleet.replicas[2].models = {ModelId(0), ModelId(2), ModelId(0)};
  books_.Configure(fleet);
  EXPECT_EQ(books_.ServersOf(ModelId(0)), std::vector<size_t>{2});
  EXPECT_EQ(books_.ServersOf(ModelId(1)), std::vector<size_t>{3});
  EXPECT_EQ(books_.ServersOf(ModelId(2)), std::vector<size_t>{2});
}

TEST_F(RivalBooksTest, GeneratedTokensFollowTheStepsSinceTheFirstToken) {
  books_.Start(Stepper::Request(1, 100), Instant(), ReplicaId(0), Tokens(0));
  books_.AddSteps({ReplicaId(0), 5, Instant()});
  EXPECT_EQ(books_.Generated(*books_.Find(RequestId(1))), 0);
  books_.TakeFirstToken(RequestId(1));
  books_.AddSteps({ReplicaId(0), 7, Instant()});
  EXPECT_EQ(books_.Generated(*books_.Find(RequestId(1))), 7);
  books_.Correct({RequestId(1), Tokens(3)});
  EXPECT_EQ(books_.Generated(*books_.Find(RequestId(1))), 3);
}

TEST_F(RivalBooksTest, ARestartedEngineCountsItsPreemptionsFromZero) {
  EngineReport report;
  report.replica = ReplicaId(0);
  for (int64_t counter : {10, 14, 2}) {
    report.preemptions = counter;
    EXPECT_TRUE(books_.TakeReport(report));
  }
  EXPECT_EQ(books_.replica(ReplicaId(0)).preemptions, 6);
  report.replica = ReplicaId(9);
  EXPECT_FALSE(books_.TakeReport(report));
}

TEST_F(RivalBooksTest, CandidatesServeTheModelAndAreUp) {
  EXPECT_EQ(books_.Candidates(Stepper::Request(1), std::nullopt), (std::vector{ReplicaId(0), ReplicaId(1)}));
  EXPECT_EQ(books_.Candidates(Stepper::Request(1), ReplicaId(0)), std::vector{ReplicaId(1)});
  books_.SetHealth({ReplicaId(1), Health::kDown});
  EXPECT_EQ(books_.Candidates(Stepper::Request(1), ReplicaId(0)), std::vector{ReplicaId(0)});
  EXPECT_TRUE(books_.Candidates(Stepper::Request(1, 100, 0, 2), std::nullopt).empty());
}

TEST_F(RivalBooksTest, AnOutageEndsAGraceAfterTheLastReplicaWentDown) {
  EXPECT_EQ(books_.OutageEnd(ModelId(0)), Instant::Never());
  books_.SetTime(Instant::FromSeconds(10));
  books_.SetHealth({ReplicaId(0), Health::kDown});
  EXPECT_EQ(books_.OutageEnd(ModelId(0)), Instant::Never());
  books_.SetTime(Instant::FromSeconds(12));
  books_.SetHealth({ReplicaId(1), Health::kDown});
  EXPECT_EQ(books_.OutageEnd(ModelId(0)), Instant::FromSeconds(17));
  EXPECT_EQ(books_.OutageEnd(ModelId(1)), Instant::FromSeconds(12));  // Never up.
}

}  // namespace
}  // namespace penstock
