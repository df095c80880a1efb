#include "router/core/admission/pump.h"

#include "tests/core/admission/admission_fixture.h"

namespace penstock::testing {
namespace {

class PumpTest : public AdmissionTest {
 protected:
  // A request of 600 runs in a pool of 1000; the lane is to be pumped.
  void BeginFull() {
    Begin(Pool(1000));
    test_.Decoding(100, 600);
    test_.rooms.work.ClearOpened();
  }
  std::vector<Action> PumpAgain() {
    test_.rooms.work.SetUnfinished(kChat, true);
    return PumpOpened();
  }
  RequestState* WaitingWithLimit(uint64_t id, int64_t prompt, int64_t max_output) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = ClassId(1);
    arrived.prompt = Tokens(prompt);
    arrived.max_output = Tokens(max_output);
    RequestState* request = test_.New(arrived);
    test_.rooms.waiting.Push(request, test_.rooms.lateness.NextCheck(*request, test_.now));
    return request;
  }
};

TEST_F(PumpTest, WithoutAChangeNothingIsTried) {
  BeginFull();
  test_.Waiting(1, 10);
  EXPECT_TRUE(PumpOpened().empty());
}

TEST_F(PumpTest, BestEffortWaitsWhileOthersAreRefusedAndSomethingRuns) {
  Begin({});
  RequestState* running = test_.Decoding(100, 100);
  for (int i = 0; i < 5; ++i) test_.rooms.waiting.lane(kChat).late.Refused(test_.now);
  // 45,000 tokens take 2.25 s of the 2 s goal.
  const std::vector<Action> arrived = Admit(1, 45'000);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(std::get<Park>(arrived[0]).reason, WaitReason::kBehindOthers);
  EXPECT_TRUE(PumpAgain().empty());
  test_.rooms.running.Leave(running, test_.now);
  const std::vector<Action> idle = PumpAgain();
  ASSERT_EQ(idle.size(), 1u) << Text(idle);
  EXPECT_TRUE(std::holds_alternative<Forward>(idle[0]));
}

TEST_F(PumpTest, BestEffortRunsBesideOthersWhenNobodyIsRefusedAnyMore) {
  Begin({});
  for (int i = 0; i < 5; ++i) test_.rooms.waiting.lane(kChat).late.Refused(test_.now);
  test_.Wait(Duration::Seconds(120));
  test_.Decoding(100, 100);
  const std::vector<Action> arrived = Admit(1, 45'000);
  ASSERT_EQ(arrived.size(), 1u) << Text(arrived);
  EXPECT_TRUE(std::holds_alternative<Forward>(arrived[0]));
}

TEST_F(PumpTest, OneOpeningPlacesAllThatFit) {
  BeginFull();
  for (uint64_t id = 1; id <= 5; ++id) WaitingWithLimit(id, 10, 10);
  const std::vector<Action> actions = PumpAgain();
  ASSERT_EQ(actions.size(), 5u) << Text(actions);
  for (size_t i = 0; i < actions.size(); ++i) {
    ASSERT_TRUE(std::holds_alternative<Forward>(actions[i]));
    EXPECT_EQ(RequestOf(*RequestActionOf(actions[i])), RequestId(i + 1)) << "in the order of the lane";
  }
  EXPECT_TRUE(test_.rooms.waiting.lane(kChat).empty());
}

TEST_F(PumpTest, ARequestBehindTooManyThatDoNotFitIsNotLookedAt) {
  BeginFull();
  for (uint64_t id = 1; id <= kLookPast + 1; ++id) test_.Waiting(id, 900);
  WaitingWithLimit(50, 10, 10);
  EXPECT_TRUE(PumpAgain().empty());
  EXPECT_EQ(Find(50)->phase, RequestPhase::kWaiting);
}

TEST_F(PumpTest, ARequestBehindFewThatDoNotFitIsPlaced) {
  BeginFull();
  for (uint64_t id = 1; id <= kLookPast - 1; ++id) test_.Waiting(id, 900);
  WaitingWithLimit(50, 10, 10);
  const std::vector<Action> actions = PumpAgain();
  ASSERT_NE(Only<Forward>(actions), nullptr) << Text(actions);
  EXPECT_EQ(Only<Forward>(actions)->request, RequestId(50));
}

// Nothing else would ever end the wait of a large request for memory.
TEST_F(PumpTest, WithoutADeadlineAPoolIsDrainedInTheEndForARequestThatNeedsAllOfIt) {
  BeginFull();
  test_.Waiting(1, 900);
  EXPECT_TRUE(PumpAgain().empty());
  WaitingWithLimit(2, 10, 10);
  EXPECT_EQ(PumpAgain().size(), 1u) << "at first others may pass";
  test_.Wait(Duration::Seconds(11));
  WaitingWithLimit(3, 10, 10);
  EXPECT_TRUE(PumpAgain().empty());
  EXPECT_EQ(Find(3)->phase, RequestPhase::kWaiting);
}

TEST_F(PumpTest, AReplicaThatIsDownTakesNothingAndItsReturnIsAnOpening) {
  Begin(Pool(1000));
  test_.rooms.servers.SetHealth(ReplicaId(0), Health::kDown, test_.now);
  WaitingWithLimit(1, 10, 10);
  EXPECT_TRUE(PumpAgain().empty());
  test_.rooms.servers.SetHealth(ReplicaId(0), Health::kUp, test_.now);
  test_.rooms.work.Open(test_.Replica());
  EXPECT_EQ(PumpOpened().size(), 1u);
}

// An outage that lasts is answered, so that clients may go elsewhere.
TEST_F(PumpTest, RequestsOfAModelWhoseServersStayDownAreRefused) {
  Begin(Pool(1000));
  test_.Waiting(1, 10);
  test_.Waiting(2, 10);
  test_.rooms.work.SetUnfinished(kChat, false);
  test_.rooms.servers.SetHealth(ReplicaId(0), Health::kDown, test_.now);
  EXPECT_TRUE(RefuseLate().empty());
  const Instant end = test_.rooms.servers.OutageEnd(kChat, test_.now);
  ASSERT_LT(end, Instant::Never());
  EXPECT_LE(pump_.NextDue(test_.now), end);
  test_.now = end;
  const std::vector<Action> actions = RefuseLate();
  ASSERT_EQ(actions.size(), 2u);
  for (const Action& action : actions) {
    ASSERT_TRUE(std::holds_alternative<Refuse>(action));
    EXPECT_EQ(std::get<Refuse>(action).reason, Refusal::kNoReplica);
    EXPECT_EQ(std::get<Refuse>(action).retry_after, Duration::Seconds(5));
  }
  EXPECT_EQ(test_.rooms.requests.size(), 0);
}

TEST_F(PumpTest, WorkThatAnEventCouldNotPayForIsDueAtOnce) {
  BeginFull();
  for (uint64_t id = 1; id <= 60; ++id) test_.Waiting(id, 600);
  test_.Wait(Duration::Seconds(40));
  const std::vector<Action> first = PumpAgain();
  EXPECT_EQ(first.size(), kTriesPerEvent / kRefusalTries);
  EXPECT_LE(pump_.NextDue(test_.now), test_.now);
  size_t refused = first.size();
  for (int i = 0; i < 10 && refused < 60; ++i) refused += PumpOpened().size();
  EXPECT_EQ(refused, 60u);
  EXPECT_EQ(pump_.NextDue(test_.now), Instant::Never());
}

TEST_F(PumpTest, AfterAPumpNothingIsListedAsOpened) {
  BeginFull();
  test_.Waiting(1, 900);
  test_.rooms.work.Open(test_.Replica());
  PumpOpened();
  EXPECT_TRUE(test_.rooms.work.opened().empty());
  EXPECT_FALSE(test_.rooms.work.Unfinished(kChat));
}

TEST_F(PumpTest, AfterAnEvictionForRowsATryThatTheEventCannotPayForGoesOnInTheNext) {
  FleetOptions options = Pool(100'000);
  options.max_sequences = 1;
  Begin(options);
  test_.Start(test_.New(100, 100, ClassId(2)));
  test_.Wait(Duration::Milliseconds(1));
  test_.Waiting(1, 10);
  test_.rooms.work.ClearOpened();
  recalls_.StartEvent(test_.now);
  eviction_.StartEvent();
  test_.rooms.work.StartEvent();
  test_.rooms.work.Charge(kTriesPerEvent - 1);
  test_.rooms.work.SetUnfinished(kChat, true);
  std::vector<Action> evicted;
  pump_.PumpOpened(test_.now, evicted);
  ASSERT_NE(Only<Abort>(evicted), nullptr) << Text(evicted);
  EXPECT_LE(pump_.NextDue(test_.now), test_.now);
  EXPECT_NE(Only<Forward>(PumpOpened()), nullptr);
}

// Forty replicas are a large fleet: an event pays for a part of the searches only.
class LargePumpTest : public AdmissionTest {
 protected:
  void SetUp() override {
    FleetOptions options;
    options.replicas = 40;
    Begin(options);
  }
  // Prefill keeps the first token of a prompt of 34,000 from coming in time. Each replica must be tried to tell.
  void KeepLongPromptsOut() {
    for (uint32_t i = 0; i < 40; ++i) test_.Running(1000 + i, 4'000, i);
    test_.UpdateFloors();
  }
  // The actions of one event, and of those that are due at once after it.
  std::vector<std::vector<Action>> PumpUntilDone() {
    test_.rooms.work.SetUnfinished(kChat, true);
    std::vector<std::vector<Action>> events;
    while (pump_.NextDue(test_.now) <= test_.now) {
      events.push_back(PumpOpened());
      if (events.size() == 200) {
        ADD_FAILURE() << "an event is due at once for ever";
        break;
      }
    }
    return events;
  }
};

TEST_F(LargePumpTest, WhatAnEventCannotPayForIsPlacedByTheNextOnesInOrder) {
  for (uint64_t id = 1; id <= 12; ++id) test_.Waiting(id, 100);
  const std::vector<std::vector<Action>> events = PumpUntilDone();
  uint64_t next = 1;
  for (const std::vector<Action>& event : events) {
    EXPECT_GE(event.size(), 1u) << "each event gets on";
    EXPECT_LE(event.size(), 4u) << "and is short";
    for (const Action& action : event) {
      ASSERT_TRUE(std::holds_alternative<Forward>(action)) << Text(event);
      EXPECT_EQ(std::get<Forward>(action).request, RequestId(next++));
    }
  }
  EXPECT_EQ(next, 13u);
  EXPECT_TRUE(test_.rooms.waiting.lane(kChat).empty());
}

TEST_F(LargePumpTest, WhereNothingCanBePlacedEachReplicaIsTriedOnceAndTheEventsEnd) {
  KeepLongPromptsOut();
  for (uint64_t id = 1; id <= 3; ++id) test_.Waiting(id, 34'000);
  const std::vector<std::vector<Action>> events = PumpUntilDone();
  for (const std::vector<Action>& event : events) EXPECT_TRUE(event.empty()) << Text(event);
  // 120 tries, of which an event pays for 14 at most.
  EXPECT_GE(events.size(), 8u);
  EXPECT_LE(events.size(), 20u);
  for (uint64_t id = 1; id <= 3; ++id) {
    EXPECT_TRUE(test_.rooms.placement.TriedEverywhere(*Find(id)));
    EXPECT_EQ(Find(id)->waiting.reason, WaitReason::kFirstToken);
  }
  EXPECT_GT(pump_.NextDue(test_.now), test_.now) << "nothing is due before something changes or is late";
}

TEST_F(LargePumpTest, ASmallRequestBehindLongSearchesIsPlacedOnceTheyEnd) {
  KeepLongPromptsOut();
  for (uint64_t id = 1; id <= 3; ++id) test_.Waiting(id, 34'000);
  test_.Waiting(4, 10);
  std::vector<Action> all;
  for (const std::vector<Action>& event : PumpUntilDone()) all.insert(all.end(), event.begin(), event.end());
  ASSERT_NE(Only<Forward>(all), nullptr) << Text(all);
  EXPECT_EQ(Only<Forward>(all)->request, RequestId(4));
}

}  // namespace
}  // namespace penstock::testing
