// Arrivals, ends and the pump together.
#include "tests/core/admission/admission_fixture.h"

namespace penstock::testing {
namespace {

TEST_F(AdmissionTest, AnArrivalThatFitsIsForwardedAtOnce) {
  const std::vector<Action> actions = Admit(1, 100);
  ASSERT_NE(Only<Forward>(actions), nullptr) << Text(actions);
  EXPECT_EQ(Find(1)->phase, RequestPhase::kPrefilling);
  EXPECT_EQ(Find(1)->running.lease, Only<Forward>(actions)->lease);
}

TEST_F(AdmissionTest, APromptThatNoServerCouldHoldIsRefusedWithTheBoundThatItBroke) {
  const std::vector<Action> context = Admit(1, 60'000);
  ASSERT_NE(Only<Refuse>(context), nullptr);
  EXPECT_EQ(Only<Refuse>(context)->reason, Refusal::kContextExceeded);
  EXPECT_EQ(Only<Refuse>(context)->bound, 50'000);
  Begin(Pool(1000));
  const std::vector<Action> pool = Admit(2, 2000);
  EXPECT_EQ(Only<Refuse>(pool)->reason, Refusal::kNeverFits);
  EXPECT_EQ(Only<Refuse>(pool)->bound, 1000);
  EXPECT_EQ(Only<Refuse>(pool)->value, 2000);
  EXPECT_EQ(Only<Refuse>(Admit(3, 10, ModelId(4)))->reason, Refusal::kUnknownModel);
  EXPECT_EQ(test_.rooms.requests.size(), 0);
}

TEST_F(AdmissionTest, APromptWaitsWhileTheSmallerLimitsOfItsServersAreInDoubt) {
  Fleet fleet = MakeFleet(Pool(1000));
  for (ReplicaSpec& replica : fleet.replicas) replica.doubted_prompt = Tokens(5000);
  test_.Configure(fleet);
  ASSERT_NE(Only<Park>(Admit(1, 2000)), nullptr);
  EXPECT_NE(Only<Forward>(Admit(2, 100)), nullptr) << "a small one fits";
  EXPECT_EQ(Only<Refuse>(Admit(3, 6000))->reason, Refusal::kNeverFits);
  const auto pump = [this] {
    test_.rooms.work.SetUnfinished(kChat, true);
    return PumpOpened();
  };
  EXPECT_TRUE(pump().empty());
  test_.Configure(MakeFleet(Pool(8000)));
  const std::vector<Action> forwarded = pump();
  ASSERT_NE(Only<Forward>(forwarded), nullptr) << Text(forwarded);
  EXPECT_EQ(Only<Forward>(forwarded)->request, RequestId(1));
}

TEST_F(AdmissionTest, AfterTheShutdownStartedArrivalsAreRefused) {
  entry_.ShutDown();
  EXPECT_EQ(Only<Refuse>(Admit(1, 100))->reason, Refusal::kShuttingDown);
}

TEST_F(AdmissionTest, AnArrivalBeyondTheLimitsOfTheQueueIsRefusedWithTheLimit) {
  Fleet fleet = MakeFleet(Pool(1000));
  fleet.limits.max_queued_requests = 1;
  test_.Configure(fleet);
  Admit(1, 600);
  ASSERT_NE(Only<Park>(Admit(2, 600)), nullptr);
  const std::vector<Action> actions = Admit(3, 600);
  ASSERT_NE(Only<Refuse>(actions), nullptr);
  EXPECT_EQ(Only<Refuse>(actions)->reason, Refusal::kQueueFull);
  EXPECT_EQ(Only<Refuse>(actions)->bound, 1);
  EXPECT_EQ(test_.rooms.waiting.requests(), 1);
}

TEST_F(AdmissionTest, ANewcomerFarBehindInItsLaneIsNotTriedNow) {
  Begin(Pool(1000));
  Admit(1, 600);
  for (uint64_t id = 2; id <= kLookPast + 2; ++id) Admit(id, 600);
  const std::vector<Action> actions = Admit(100, 1);
  ASSERT_NE(Only<Park>(actions), nullptr) << Text(actions);
  EXPECT_EQ(Only<Park>(actions)->reason, WaitReason::kBehindOthers);
}

TEST_F(AdmissionTest, AnEndOpensItsReplicaAndThePumpPlacesTheNextRequest) {
  Begin(Pool(1000));
  Admit(1, 600);
  Admit(2, 600);
  EXPECT_TRUE(PumpOpened().empty());
  exits_.Close({RequestId(1), Outcome::kFinished, Tokens(0), Tokens(5), false}, test_.now);
  EXPECT_EQ(Find(1), nullptr);
  const std::vector<Action> actions = PumpOpened();
  ASSERT_NE(Only<Forward>(actions), nullptr) << Text(actions);
  EXPECT_EQ(Only<Forward>(actions)->request, RequestId(2));
  EXPECT_TRUE(test_.rooms.work.opened().empty());
}

TEST_F(AdmissionTest, ARequestThatDoesNotFitIsPassedByOneThatDoes) {
  Begin(Pool(1000));
  Admit(1, 500);
  Admit(2, 490);
  test_.Waiting(3, 5)->arrived.max_output = Tokens(5);
  test_.rooms.work.SetUnfinished(kChat, true);
  const std::vector<Action> actions = PumpOpened();
  ASSERT_NE(Only<Forward>(actions), nullptr) << Text(actions);
  EXPECT_EQ(Only<Forward>(actions)->request, RequestId(3));
}

TEST_F(AdmissionTest, ARequeuedRequestWaitsAgainUnderItsOldArrivalAndAvoidsItsReplica) {
  Admit(1, 100);
  const Instant arrival = Find(1)->arrival;
  test_.Wait(Duration::Seconds(1));
  std::vector<Action> actions;
  exits_.Requeue({RequestId(1), Tokens(7), true}, test_.now, actions);
  ASSERT_NE(Only<Park>(actions), nullptr);
  EXPECT_EQ(Find(1)->phase, RequestPhase::kWaiting);
  EXPECT_EQ(Find(1)->arrival, arrival);
  EXPECT_EQ(Find(1)->Prompt(), Tokens(107));
  EXPECT_TRUE(Find(1)->waiting.Avoids(0));
  EXPECT_TRUE(Find(1)->waiting.begun);
  EXPECT_EQ(exits_.requeues(), 1);
}

TEST_F(AdmissionTest, AWaitingRequestThatLeavesIsForgotten) {
  Begin(Pool(1000));
  Admit(1, 600);
  Admit(2, 600);
  exits_.Close({RequestId(2), Outcome::kClientGone, Tokens(0), Tokens(0), false}, test_.now);
  EXPECT_EQ(Find(2), nullptr);
  EXPECT_EQ(test_.rooms.waiting.requests(), 0);
}

TEST_F(AdmissionTest, TheTimerRefusesARequestAtTheEndOfItsQueueTime) {
  Begin(Pool(1000));
  Admit(1, 600);
  Admit(2, 600);
  test_.rooms.work.SetUnfinished(kChat, false);
  EXPECT_EQ(pump_.NextDue(test_.now), test_.now + Duration::Seconds(30));
  EXPECT_TRUE(RefuseLate().empty());
  test_.Wait(Duration::Seconds(30));
  const std::vector<Action> actions = RefuseLate();
  ASSERT_NE(Only<Refuse>(actions), nullptr);
  EXPECT_EQ(Only<Refuse>(actions)->reason, Refusal::kQueueTimeout);
  EXPECT_EQ(pump_.NextDue(test_.now), Instant::Never());
}

TEST_F(AdmissionTest, OneEventRefusesNoMoreThanItMayPayFor) {
  Begin(Pool(1000));
  Admit(1, 600);
  for (uint64_t id = 2; id <= 100; ++id) test_.Waiting(id, 600);
  test_.Wait(Duration::Seconds(40));
  EXPECT_EQ(RefuseLate().size(), kTriesPerEvent / kRefusalTries);
}

TEST_F(AdmissionTest, DrainedMemoryComesBackAndOpensItsPool) {
  Begin(Pool(1000));
  RequestState* gone = test_.Decoding(1, 600);
  test_.rooms.running.Leave(gone, test_.now);
  test_.rooms.fleet.ledger().Drain(gone->running.lease, test_.now + Duration::Seconds(2));
  exits_.SettleMemory(test_.now + Duration::Seconds(1));
  EXPECT_TRUE(test_.rooms.work.opened().empty());
  exits_.SettleMemory(test_.now + Duration::Seconds(2));
  EXPECT_EQ(test_.rooms.work.opened(), std::vector<size_t>{0});
}

}  // namespace
}  // namespace penstock::testing
