#include "router/core/accounts/work_book.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

// One model, and a GPU for each of its two replicas. The TTFT goal is 2 s, the TPOT goal 100 ms. An engine may work on
// for a second after a cancel.
class WorkBookTest : public ::testing::Test {
 protected:
  WorkBookTest() {
    fleet_.models = {{"m"}};
    fleet_.classes = {{.name = "standard", .ttft = Duration::Seconds(2), .tpot = Duration::Milliseconds(100)}};
    for (uint32_t i = 0; i < 2; ++i) {
      ReplicaSpec replica{.name = "r"};
      replica.models = {ModelId(0)};
      replica.gpus = {i};
      replica.abort_hold = Duration::Seconds(1);
      fleet_.replicas.push_back(replica);
    }
    accounts_.Place(PlacesOf(fleet_), 1, At(0));
    Tell(0, FleetChanged{fleet_});
    for (uint32_t i = 0; i < 2; ++i) Tell(0, ReplicaHealth{ReplicaId(i), Health::kUp});
  }
  static Instant At(double seconds) { return Instant::FromSeconds(seconds); }
  void Tell(double seconds, const Event& event, const std::vector<Action>& actions = {}) {
    book_.Observe(event, At(seconds), actions);
  }
  void Arrive(double seconds, uint64_t request = 1, bool observed = true, int64_t max_output = 0) {
    RequestArrived arrived;
    arrived.request = RequestId(request);
    arrived.prompt = Tokens(1000);
    arrived.max_output = Tokens(max_output);
    arrived.observed = observed;
    Tell(seconds, arrived, {Forward{RequestId(request), ReplicaId(0)}});
  }
  void Close(double seconds, Outcome outcome = Outcome::kFinished, uint64_t request = 1) {
    Tell(seconds, RequestClosed{RequestId(request), outcome});
  }
  // Seconds of GPU 0 until then.
  double Seconds(GpuState state, double until) {
    accounts_.SettleAll(At(until));
    return accounts_.time(0)[state];
  }

  Fleet fleet_;
  GpuAccounts accounts_;
  WorkBook book_{accounts_};
};

TEST_F(WorkBookTest, ALongAnswerOfTheLongestPromiseIsNotLateAtOnce) {
  fleet_.classes[0].tpot = Duration::Seconds(30 * 86'400.0);
  Tell(0, FleetChanged{fleet_});
  Arrive(1, 1, /*observed=*/false, /*max_output=*/5000);
  book_.Sample({}, {}, At(3));
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kProductive, 4), 3) << "5,000 tokens of 30 days each are due in 400 years";
}

TEST_F(WorkBookTest, ARequestIsProductiveFromItsForwardToItsEnd) {
  Arrive(1);
  Tell(1.5, FirstToken{RequestId(1)});
  Close(4);
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kProductive, 10), 3);
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kIdle, 10), 7);
  EXPECT_EQ(book_.requests(), 0u);
}

TEST_F(WorkBookTest, TheFirstStageOfAPairIsWorkOfItsOwnEngine) {
  RequestArrived arrived;
  arrived.request = RequestId(1);
  Forward forward{RequestId(1), ReplicaId(1)};
  forward.prefill = PrefillOrder{ReplicaId(0)};
  Tell(1, arrived, {forward});
  Tell(3.5, PrefillEnded{RequestId(1)});
  Tell(4, FirstToken{RequestId(1)});
  Close(6);
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kProductive, 10), 2.5) << "until the prompt was computed";
  EXPECT_DOUBLE_EQ(accounts_.time(1)[GpuState::kProductive], 2.5);
}

TEST_F(WorkBookTest, ALateFirstStageIsLateAtBothEngines) {
  RequestArrived arrived;
  arrived.request = RequestId(1);
  Forward forward{RequestId(1), ReplicaId(1)};
  forward.prefill = PrefillOrder{ReplicaId(0)};
  Tell(1, arrived, {forward});
  book_.Sample({}, {}, At(3.025));
  Tell(4.025, PrefillEnded{RequestId(1)});
  Close(5.025, Outcome::kEngineFailed);
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 10), 1);
  EXPECT_DOUBLE_EQ(accounts_.time(1)[GpuState::kSlow], 1);
}

TEST_F(WorkBookTest, AFirstTokenIsLateFromItsDueTimeOn) {
  Arrive(1);
  book_.Sample({}, {}, At(3));
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 3), 0);
  book_.Sample({}, {}, At(3.025));
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 5.025), 2);
  Tell(5.025, FirstToken{RequestId(1)});
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 8), 2) << "its stream is judged by the samples";
}

TEST_F(WorkBookTest, TheCallerSaysHowManyStreamsAreOverdue) {
  for (const uint64_t request : {1, 2, 3, 4}) {
    Arrive(0, request);
    Tell(0, FirstToken{RequestId(request)});
  }
  const std::vector<int64_t> late = {3};
  book_.Sample(late, {}, At(4));
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kProductive, 4), 4);
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 8), 3);
  book_.Sample({}, {}, At(8));
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 20), 3);
}

TEST_F(WorkBookTest, AnAnswerInOnePieceIsLateWhenItsLastTokenIsOverdue) {
  Arrive(0, 1, /*observed=*/false, /*max_output=*/30);
  book_.Sample({}, {}, At(4.9));
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 4.9), 0);
  book_.Sample({}, {}, At(5.1));
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 6.1), 1);
}

TEST_F(WorkBookTest, AnAnswerInOnePieceWithoutALimitIsNeverLate) {
  Arrive(0, 1, /*observed=*/false);
  book_.Sample({}, {}, At(1000));
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kSlow, 2000), 0);
}

TEST_F(WorkBookTest, AnEngineMayWorkOnForAClientThatLeft) {
  Arrive(0);
  Close(3, Outcome::kClientGone);
  book_.Sample({}, {}, At(3.9));
  book_.Sample({}, {}, At(4.01));
  EXPECT_NEAR(Seconds(GpuState::kForNobody, 10), 1.01, 1e-9) << "to the sample after its end";
}

TEST_F(WorkBookTest, AReportThatNothingRunsEndsTheWorkForNobody) {
  Arrive(0);
  Close(3, Outcome::kClientGone);
  EngineReport report{.replica = ReplicaId(0), .sampled_at = At(2.9), .running = 0};
  Tell(3.1, report);
  EXPECT_NEAR(Seconds(GpuState::kForNobody, 3.2), 0.2, 1e-9) << "it is older than the cancel";
  report.sampled_at = At(3.15);
  Tell(3.2, report);
  book_.Sample({}, {}, At(5));
  EXPECT_NEAR(Seconds(GpuState::kForNobody, 6), 0.2, 1e-9);
}

TEST_F(WorkBookTest, ARequestThatMovesWaitsAndIsReadAgain) {
  Arrive(0);
  Tell(1, FirstToken{RequestId(1)});
  Tell(2, RequestRequeued{RequestId(1), Tokens(40), true});
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kWaiting, 3), 1);
  EXPECT_EQ(book_.recomputed_tokens(), 0);
  Tell(3, TimerFired{}, {Forward{RequestId(1), ReplicaId(1)}});
  EXPECT_EQ(book_.recomputed_tokens(), 1040);
  book_.Sample({}, {}, At(5.9));
  accounts_.SettleAll(At(6));
  EXPECT_DOUBLE_EQ(accounts_.time(1)[GpuState::kProductive], 3) << "its next token is due at 2 s + 40 x 100 ms";
  book_.Sample({}, {}, At(6.1));
  accounts_.SettleAll(At(7.1));
  EXPECT_DOUBLE_EQ(accounts_.time(1)[GpuState::kSlow], 1);
}

TEST_F(WorkBookTest, ARefusedRequestLeavesNoDemand) {
  RequestArrived arrived;
  arrived.request = RequestId(9);
  Tell(0, arrived, {Park{RequestId(9)}});
  Tell(2, TimerFired{}, {Refuse{RequestId(9)}});
  EXPECT_DOUBLE_EQ(Seconds(GpuState::kWaiting, 10), 2);
  EXPECT_EQ(book_.requests(), 0u);
}

TEST_F(WorkBookTest, AReplicaIsDownUntilItsFirstNewsAndAsleepFromTheOrderOn) {
  ReplicaSpec third = fleet_.replicas[0];
  third.gpus = {2};
  fleet_.replicas.push_back(third);
  accounts_.Place(PlacesOf(fleet_), 1, At(10));
  Tell(10, FleetChanged{fleet_});
  Tell(12, ReplicaHealth{ReplicaId(2), Health::kUp}, {Sleep{ReplicaId(2)}});
  Tell(15, ReplicaResidency{ReplicaId(2), Residency::kWaking});
  Tell(16, ReplicaResidency{ReplicaId(2), Residency::kAwake});
  accounts_.SettleAll(At(20));
  EXPECT_DOUBLE_EQ(accounts_.time(2)[GpuState::kDown], 2);
  EXPECT_DOUBLE_EQ(accounts_.time(2)[GpuState::kAsleep], 4);
  EXPECT_DOUBLE_EQ(accounts_.time(2)[GpuState::kIdle], 4);
}

}  // namespace
}  // namespace penstock
