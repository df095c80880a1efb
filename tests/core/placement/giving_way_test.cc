#include "router/core/placement/giving_way.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

constexpr ClassId kChat(1);
constexpr ClassId kJobs(2);

// Steps of 10 ms, 0.1 ms longer per sequence; a prompt token takes 0.05 ms.
Fleet OfRows(int rows, int replicas = 1) {
  FleetOptions options;
  options.replicas = replicas;
  options.enforce_goals = false;
  options.max_sequences = rows;
  Fleet fleet = MakeFleet(options);
  fleet.replicas[0].prior.b = 0.1;
  fleet.replicas[0].learns_steps = false;
  return fleet;
}

class GivingWay : public ::testing::Test {
 protected:
  explicit GivingWay(int rows = 256, int replicas = 1) : test(OfRows(rows, replicas)) {}

  std::optional<WaitReason> Verdict(ClassId service_class, int64_t prompt = 100,
                                    const std::vector<Guard>& guards = AllGuards()) {
    const RequestState* request = test.New(next_++, prompt, service_class);
    return FirstBroken(guards, QuestionFor(*request, test.Replica(), test.rooms.fleet, test.now));
  }
  RequestState* Prefill(ClassId service_class, int64_t prompt = 100) {
    return test.Start(test.New(next_++, prompt, service_class));
  }
  RequestState* Decode(ClassId service_class) {
    RequestState* request = Prefill(service_class, 1);
    test.rooms.running.TakeFirstToken(request, test.now);
    return request;
  }
  // A request that was no burst.
  RequestState* Chat() {
    RequestState* request = Decode(kChat);
    test.Wait(Duration::Seconds(2));
    return request;
  }
  void RunSteps() {
    for (int step = 0; step < 40; ++step) {
      test.Wait(Duration::Milliseconds(10));
      test.Replica().Advance(1, test.now, 0);
    }
  }
  void Report(int running, int waiting) {
    EngineReport report;
    report.replica = ReplicaId(0);
    report.sampled_at = test.now;
    report.kv_used_share = 0.1;
    report.running = running;
    report.waiting = waiting;
    test.rooms.fleet.Report(report);
  }

  TestRooms test;
  uint64_t next_ = 1;
};

TEST_F(GivingWay, JobsAloneHaveEightPromptsOnTheirWay) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Verdict(kJobs), std::nullopt) << i;
    Prefill(kJobs);
  }
  EXPECT_EQ(Verdict(kJobs), WaitReason::kRunway);
  EXPECT_EQ(Verdict(kChat), std::nullopt);
}

TEST_F(GivingWay, BesideAnotherRequestTheirPrefillOnItsWayStaysAPartOfAStep) {
  Chat();
  EXPECT_EQ(Verdict(kJobs, 5000), std::nullopt) << "a long prompt goes alone";
  Prefill(kJobs, 20);
  EXPECT_EQ(Verdict(kJobs, 20), std::nullopt) << "40 tokens take 2 ms of a step of 10";
  EXPECT_EQ(Verdict(kJobs, 100), WaitReason::kRunway);
  EXPECT_EQ(Verdict(kChat, 100), std::nullopt);
}

TEST_F(GivingWay, TheyMakeAStepHalfAsLongAgainAtMost) {
  Chat();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Verdict(kJobs), std::nullopt) << i;
    Decode(kJobs);
  }
  EXPECT_EQ(Verdict(kJobs), WaitReason::kRunway) << "51 of them would add 5.1 ms to 10";
  EXPECT_EQ(Verdict(kChat), std::nullopt);
}

TEST_F(GivingWay, StepsThatOthersMakeLongAreNotHeldAgainstThem) {
  for (int i = 0; i < 100; ++i) Chat();
  EXPECT_EQ(Verdict(kJobs), std::nullopt);
}

TEST_F(GivingWay, InABurstNoneOfTheirPromptsFollows) {
  Decode(kChat);
  for (int second = 0; second < 120; ++second) {
    test.Wait(Duration::Seconds(1));
    Decode(kChat);
  }
  test.Wait(Duration::Seconds(1));
  EXPECT_EQ(Verdict(kJobs), std::nullopt);
  for (int i = 0; i < 10; ++i) Decode(kChat);
  EXPECT_EQ(Verdict(kJobs), WaitReason::kRunway);
  EXPECT_EQ(Verdict(kChat), std::nullopt);
  test.Wait(Duration::Seconds(1));
  EXPECT_EQ(Verdict(kJobs), std::nullopt);
}

TEST_F(GivingWay, AMinuteAfterTheLastOtherRequestTheyHaveTheReplicaForThemselves) {
  RequestState* chat = Decode(kChat);
  Decode(kJobs);
  Prefill(kJobs, 400);
  test.rooms.running.Leave(chat, test.now);
  test.Wait(Duration::Seconds(59));
  EXPECT_EQ(Verdict(kJobs, 400), WaitReason::kRunway);
  test.Wait(Duration::Seconds(1));
  EXPECT_EQ(Verdict(kJobs, 400), std::nullopt);
}

TEST_F(GivingWay, AGuaranteedTurnDoesNotGiveWay) {
  Chat();
  Prefill(kJobs, 400);
  RequestState* job = test.New(next_++, 400, kJobs);
  const auto verdict = [&] {
    return FirstBroken(AllGuards(), QuestionFor(*job, test.Replica(), test.rooms.fleet, test.now));
  };
  EXPECT_EQ(verdict(), WaitReason::kRunway);
  job->service.guaranteed = true;
  EXPECT_EQ(verdict(), std::nullopt);
}

TEST_F(GivingWay, WithoutTheRuleTheyHaveOnePromptAtATimeAndAnyRow) {
  Chat();
  for (int i = 0; i < 60; ++i) Decode(kJobs);
  EXPECT_EQ(Verdict(kJobs, 100, GuardsWithoutNewcomers()), std::nullopt);
  Prefill(kJobs, 1);
  EXPECT_EQ(Verdict(kJobs, 1, GuardsWithoutNewcomers()), WaitReason::kRunway);
}

TEST_F(GivingWay, NoLineFollowsAPromptThatWaitsInsideTheEngine) {
  Decode(kJobs);
  RequestState* stuck = Prefill(kJobs);
  EXPECT_EQ(Verdict(kJobs), std::nullopt);
  RunSteps();
  EXPECT_EQ(stuck->running.prefill_left, Tokens(0));
  EXPECT_EQ(Verdict(kJobs), WaitReason::kRunway);
  test.rooms.running.TakeFirstToken(stuck, test.now);
  EXPECT_EQ(Verdict(kJobs), std::nullopt);
}

TEST_F(GivingWay, AnEngineWhereAPromptWaitsForLongHasNoMoreRowsThanItRuns) {
  for (int i = 0; i < 8; ++i) Decode(kJobs);
  Prefill(kJobs);
  Report(8, 1);
  EXPECT_EQ(RowsOf(test.Replica(), test.now), 256) << "the prompt has just come";
  RunSteps();
  Report(8, 1);
  EXPECT_EQ(RowsOf(test.Replica(), test.now), 8);
  EXPECT_EQ(Verdict(kChat), WaitReason::kSequences) << "a job makes room for it";
  test.Wait(SeenRows::kKept);
  EXPECT_EQ(RowsOf(test.Replica(), test.now), 256);
}

TEST_F(GivingWay, RowsThatWereSeenBindNobodyWhereNoJobRuns) {
  for (int i = 0; i < 8; ++i) Chat();
  Prefill(kChat);
  RunSteps();
  Report(8, 1);
  EXPECT_EQ(RowsOf(test.Replica(), test.now), 256);
}

class GivingWayOfTwoServers : public GivingWay {
 protected:
  GivingWayOfTwoServers() : GivingWay(256, 2) {}
};

TEST_F(GivingWayOfTwoServers, TheyLeaveRoomWhereTheOtherServerHasTheDemand) {
  Prefill(kJobs, 400);
  EXPECT_EQ(Verdict(kJobs, 400), std::nullopt);
  RequestState* chat = test.Start(test.New(next_++, 100, kChat), 1);
  EXPECT_EQ(Verdict(kJobs, 400), WaitReason::kRunway)
      << "a full server would never get a request that shows the demand";
  test.rooms.running.Leave(chat, test.now);
  test.Wait(Duration::Seconds(60));
  EXPECT_EQ(Verdict(kJobs, 400), std::nullopt);
}

class GivingWayOfFewRows : public GivingWay {
 protected:
  GivingWayOfFewRows() : GivingWay(32) {}
};

TEST_F(GivingWayOfFewRows, ASixteenthOfTheRowsStaysFree) {
  Chat();
  for (int i = 0; i < 28; ++i) Decode(kJobs);
  EXPECT_EQ(Verdict(kJobs), std::nullopt);
  Decode(kJobs);
  EXPECT_EQ(Verdict(kJobs), WaitReason::kRunway) << "30 of 32 rows are taken";
  Chat();
  EXPECT_EQ(Verdict(kChat), std::nullopt);
}

}  // namespace
}  // namespace penstock::testing
