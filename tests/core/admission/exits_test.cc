#include "router/core/admission/exits.h"

#include <functional>

#include "tests/core/admission/admission_fixture.h"

namespace penstock::testing {
namespace {

constexpr Duration kHold = Duration::Seconds(4);
constexpr Amount kPromptAndFirstToken{601};

class ExitsTest : public AdmissionTest {
 protected:
  void HoldMemoryAfterAborts() {
    Fleet fleet = MakeFleet(Pool(1000));
    fleet.replicas[0].abort_hold = kHold;
    test_.Configure(fleet);
    test_.rooms.work.StartEvent();
    test_.rooms.work.ClearOpened();
  }
  void End(uint64_t id, Outcome outcome, int64_t output = 0) {
    exits_.Close({RequestId(id), outcome, Tokens(0), Tokens(output), false}, test_.now);
  }
  std::vector<Action> Requeue(uint64_t id, int64_t generated, bool avoid) {
    std::vector<Action> actions;
    exits_.Requeue({RequestId(id), Tokens(generated), avoid}, test_.now, actions);
    return actions;
  }
  Amount available() const { return test_.rooms.fleet.ledger().Available(PoolId(0)); }
  Amount draining() const { return test_.rooms.fleet.ledger().balance(PoolId(0)).draining; }
};

TEST_F(ExitsTest, AFinishedRequestGivesItsMemoryBackAtOnce) {
  HoldMemoryAfterAborts();
  test_.Decoding(1, 600);
  End(1, Outcome::kFinished, 20);
  EXPECT_EQ(available(), Amount(1000));
  EXPECT_EQ(draining(), Amount(0));
  EXPECT_EQ(test_.rooms.fleet.ledger().leases(), 0);
}

TEST_F(ExitsTest, AfterAVanishedClientTheMemoryIsHeldForTheTimeOfItsEngine) {
  HoldMemoryAfterAborts();
  test_.Decoding(1, 600);
  End(1, Outcome::kClientGone);
  EXPECT_EQ(Find(1), nullptr);
  EXPECT_EQ(draining(), kPromptAndFirstToken);
  test_.Wait(kHold - Duration::Milliseconds(1));
  exits_.SettleMemory(test_.now);
  EXPECT_EQ(draining(), kPromptAndFirstToken);
  test_.Wait(Duration::Milliseconds(1));
  exits_.SettleMemory(test_.now);
  EXPECT_EQ(draining(), Amount(0));
  EXPECT_EQ(available(), Amount(1000));
}

TEST_F(ExitsTest, AnEngineThatFreesAtOnceHoldsNothingAfterAVanishedClient) {
  Begin(Pool(1000));
  test_.Decoding(1, 600);
  End(1, Outcome::kClientGone);
  EXPECT_EQ(draining(), Amount(0));
}

TEST_F(ExitsTest, ARequestThatItsEngineFailedOrRejectedHoldsNothing) {
  for (const Outcome outcome : {Outcome::kEngineFailed, Outcome::kRejected}) {
    HoldMemoryAfterAborts();
    test_.Running(1, 600);
    End(1, outcome);
    EXPECT_EQ(draining(), Amount(0));
    EXPECT_EQ(available(), Amount(1000));
  }
}

TEST_F(ExitsTest, AnEndOfAnUnknownRequestChangesNothing) {
  Begin(Pool(1000));
  test_.Decoding(1, 600);
  test_.rooms.work.ClearOpened();
  End(2, Outcome::kFinished, 5);
  EXPECT_TRUE(Requeue(2, 5, true).empty());
  EXPECT_NE(Find(1), nullptr);
  EXPECT_TRUE(test_.rooms.work.opened().empty());
  EXPECT_EQ(exits_.requeues(), 0);
}

TEST_F(ExitsTest, AWaitingRequestIsNotRequeued) {
  Begin(Pool(1000));
  test_.Waiting(1, 600);
  EXPECT_TRUE(Requeue(1, 0, true).empty());
  EXPECT_EQ(test_.rooms.waiting.requests(), 1);
}

TEST_F(ExitsTest, ARequeueDrainsTheOldMemoryWhileTheRequestWaitsAgain) {
  HoldMemoryAfterAborts();
  test_.Decoding(1, 600);
  Requeue(1, 30, true);
  EXPECT_EQ(draining(), kPromptAndFirstToken);
  EXPECT_EQ(Find(1)->phase, RequestPhase::kWaiting);
  EXPECT_TRUE(Find(1)->pools.empty());
  test_.Wait(kHold);
  exits_.SettleMemory(test_.now);
  EXPECT_EQ(available(), Amount(1000));
}

// Its answer had begun: the failure of the engine is no fault of the client, so the queue time starts again.
TEST_F(ExitsTest, TheQueueTimeOfABegunAnswerStartsAgain) {
  Begin(Pool(1000));
  test_.Decoding(1, 600);
  test_.Wait(Duration::Seconds(20));
  Requeue(1, 30, true);
  EXPECT_EQ(Find(1)->waiting.since, test_.now);
  EXPECT_TRUE(Find(1)->waiting.begun);
}

TEST_F(ExitsTest, ARequestWithoutATokenKeepsItsQueueTime) {
  Begin(Pool(1000));
  test_.Running(1, 600);
  const Instant since = Find(1)->waiting.since;
  test_.Wait(Duration::Seconds(2));
  Requeue(1, 0, true);
  EXPECT_EQ(Find(1)->waiting.since, since);
  EXPECT_FALSE(Find(1)->waiting.begun);
}

TEST_F(ExitsTest, AReplicaIsAvoidedOnceHoweverOftenItFails) {
  Begin(Pool(1000));
  for (int i = 0; i < 3; ++i) {
    RequestState* request = i == 0 ? test_.New(1, 600) : Find(1);
    if (i > 0) test_.rooms.waiting.Remove(request);
    test_.Start(request);
    Requeue(1, 0, true);
  }
  EXPECT_EQ(Find(1)->waiting.avoid.size(), 1u);
  EXPECT_EQ(Find(1)->requeues, 3);
  EXPECT_EQ(exits_.requeues(), 3);
}

TEST_F(ExitsTest, APushedBackRequestDoesNotAvoidItsReplica) {
  Begin(Pool(1000));
  test_.Running(1, 600);
  Requeue(1, 0, false);
  EXPECT_TRUE(Find(1)->waiting.avoid.empty());
}

TEST_F(ExitsTest, WhatTheClientHasBecomesPartOfThePrompt) {
  Begin(Pool(1000));
  test_.Decoding(1, 300);
  Requeue(1, 40, false);
  EXPECT_EQ(Find(1)->Prompt(), Tokens(340));
  test_.rooms.waiting.Remove(Find(1));
  test_.Start(Find(1));
  Requeue(1, 55, false);
  EXPECT_EQ(Find(1)->Prompt(), Tokens(355)) << "the count is of all tries together";
}

TEST_F(ExitsTest, EveryExitOpensItsReplica) {
  Begin(Pool(1000));
  const auto opened_by = [this](const std::function<void()>& exit) {
    test_.rooms.work.ClearOpened();
    exit();
    return test_.rooms.work.opened() == std::vector<size_t>{0};
  };
  test_.Decoding(1, 100);
  test_.Decoding(2, 100);
  test_.Running(3, 100);
  EXPECT_TRUE(opened_by([this] { End(1, Outcome::kFinished, 5); }));
  EXPECT_TRUE(opened_by([this] { End(2, Outcome::kClientGone); }));
  EXPECT_TRUE(opened_by([this] { Requeue(3, 0, true); }));
}

}  // namespace
}  // namespace penstock::testing
