#include <gtest/gtest.h>

#include <algorithm>

#include "router/core/penstock_core.h"
#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

using testing::CoreStepper;
using testing::FleetOptions;
using testing::MakeFleet;
using testing::Only;
using testing::Text;

constexpr ClassId kUsers(0);
constexpr ClassId kJobs(2);

// Two jobs of 4,500 prompt tokens fill the pool.
class CoreEviction : public ::testing::Test {
 protected:
  CoreEviction() : CoreEviction(Small()) {}
  explicit CoreEviction(const Fleet& fleet) : stepper_(fleet) {
    for (uint64_t id = 1; id <= 2; ++id) {
      EXPECT_NE(Only<Forward>(stepper_.Arrive(id, 4'500, kJobs)), nullptr);
      stepper_.Send(FirstToken{RequestId(id)});
    }
    for (int i = 0; i < 5; ++i) {
      stepper_.Wait(Duration::Milliseconds(100));
      stepper_.Step(10);
    }
  }
  static Fleet Small() {
    FleetOptions options;
    options.pool_tokens = 10'000;
    Fleet fleet = MakeFleet(options);
    for (ClassSpec& goals : fleet.classes) goals.parking = false;
    return fleet;
  }
  // The abort of a job by a burst.
  const Abort* Burst(uint64_t id = 10) {
    EXPECT_NE(Only<Park>(stepper_.Arrive(id, 2'000, kUsers)), nullptr);
    burst_ = stepper_.RunTimers(stepper_.now);
    return Only<Abort>(burst_);
  }
  std::vector<Action> Back(RequestId job, int64_t generated) {
    return stepper_.Send(RequestRequeued{job, Tokens(generated), false});
  }

  CoreStepper stepper_;
  std::vector<Action> burst_;
};

TEST_F(CoreEviction, AJobMakesRoomForAnInteractiveRequestAtOnce) {
  const Abort* abort = Burst();
  ASSERT_NE(abort, nullptr) << Text(burst_);
  EXPECT_EQ(abort->reason, AbortReason::kEviction);
  const std::vector<Action> back = Back(abort->request, 51);
  ASSERT_EQ(back.size(), 2u) << Text(back);
  EXPECT_EQ(std::get<Park>(back[0]).reason, WaitReason::kBehindOthers);
  EXPECT_EQ(std::get<Forward>(back[1]).request, RequestId(10));
  EXPECT_EQ(stepper_.core.View(stepper_.now).counters.evicted, 1);
  EXPECT_EQ(stepper_.core.WaitOf(abort->request)->reason, WaitReason::kRunway);
}

// Two jobs fill the pool of an engine that frees the memory of an aborted request after four seconds.
class CoreEvictionOnASlowEngine : public CoreEviction {
 protected:
  CoreEvictionOnASlowEngine() : CoreEviction(Slow()) {}
  static Fleet Slow() {
    Fleet fleet = Small();
    fleet.classes[0].refuse_late = false;
    fleet.replicas[0].abort_hold = Duration::Seconds(4);
    return fleet;
  }
};

TEST_F(CoreEvictionOnASlowEngine, NoSecondJobIsEvictedWhileTheMemoryOfTheFirstIsOnItsWay) {
  const RequestId job = Burst()->request;
  Back(job, 51);
  const std::vector<Action> meanwhile = stepper_.RunTimers(stepper_.now + Duration::Seconds(3.9));
  EXPECT_TRUE(std::none_of(meanwhile.begin(), meanwhile.end(), [](const Action& action) {
    return std::holds_alternative<Abort>(action);
  })) << Text(meanwhile);
  const std::vector<Action> then = stepper_.RunTimers(stepper_.now + Duration::Seconds(0.2));
  EXPECT_NE(Text(then).find("forward"), std::string::npos) << Text(then);
}

TEST_F(CoreEviction, TheJobGoesOnWhenTheBurstIsOver) {
  const RequestId job = Burst()->request;
  Back(job, 51);
  stepper_.Send(FirstToken{RequestId(10)});
  stepper_.Wait(Duration::Milliseconds(200));
  EXPECT_TRUE(stepper_.Finish(10, 5).empty()) << "the next burst would evict it again";
  std::vector<Action> actions;
  for (int i = 0; i < 700 && actions.empty(); ++i) {
    actions = stepper_.RunTimers(stepper_.now + Duration::Milliseconds(100));
    if (actions.empty()) actions = stepper_.Step(1);
  }
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr) << Text(actions);
  EXPECT_EQ(forward->request, job);
}

TEST_F(CoreEviction, AnEvictedJobIsNeverRefusedForLateness) {
  const RequestId job = Burst()->request;
  Back(job, 51);
  stepper_.Send(FirstToken{RequestId(10)});
  const std::vector<Action> later = stepper_.RunTimers(stepper_.now + Duration::Seconds(2 * 86'400));
  for (const Action& action : later) EXPECT_FALSE(std::holds_alternative<Refuse>(action)) << Text(later);
}

TEST_F(CoreEviction, AStreamThatIsLeftAloneIsNotAskedAgain) {
  const RequestId job = Burst()->request;
  EXPECT_TRUE(stepper_.Send(AnswerFixed{job}).empty());
  stepper_.Wait(Duration::Milliseconds(600));
  const std::vector<Action> next = stepper_.Step(1);
  const Abort* abort = Only<Abort>(next);
  ASSERT_NE(abort, nullptr) << Text(next);
  EXPECT_NE(abort->request, job);
  EXPECT_EQ(stepper_.core.View(stepper_.now).counters.evicted, 0) << "none has made room yet";
}

// The engine of both jobs sleeps after 30 s without work.
class CoreEvictionOnASleeper : public CoreEviction {
 protected:
  CoreEvictionOnASleeper() : CoreEviction(Sleeper()) {}
  static Fleet Sleeper() {
    Fleet fleet = Small();
    fleet.gpus.push_back({"gpu", Bytes(20)});
    fleet.replicas[0].gpus = {0};
    fleet.replicas[0].resident = Bytes(10);
    fleet.replicas[0].sleep = SleepSpec{Duration::Seconds(30), Duration::Seconds(1)};
    return fleet;
  }
  bool SleepsWithin(double seconds) {
    const std::vector<Action> actions = stepper_.RunTimers(stepper_.now + Duration::Seconds(seconds));
    return std::any_of(actions.begin(), actions.end(),
                       [](const Action& action) { return std::holds_alternative<Sleep>(action); });
  }
};

TEST_F(CoreEvictionOnASleeper, AnEngineThatGoesOnWithADeclinedJobIsNotPutToSleep) {
  stepper_.Send(ReplicaResidency{ReplicaId(0), Residency::kAwake, false, Duration()});
  const RequestId job = Burst()->request;
  stepper_.Send(AnswerFixed{job});
  const RequestId other(3 - job.value());
  stepper_.Send(RequestClosed{other, Outcome::kFinished, Tokens(0), Tokens(51), false});
  stepper_.Send(RequestClosed{RequestId(10), Outcome::kClientGone, Tokens(0), Tokens(0), false});
  EXPECT_FALSE(SleepsWithin(60));
  stepper_.Send(RequestClosed{job, Outcome::kFinished, Tokens(0), Tokens(500), false});
  EXPECT_TRUE(SleepsWithin(31));
}

TEST_F(CoreEviction, OneThatDeclinedAndFailedLaterWasNotEvicted) {
  const RequestId job = Burst()->request;
  stepper_.Send(AnswerFixed{job});
  Back(job, 51);
  EXPECT_EQ(stepper_.core.View(stepper_.now).counters.evicted, 0);
}

TEST_F(CoreEviction, AJobThatEndsMeanwhileIsForgotten) {
  const RequestId job = Burst()->request;
  stepper_.Send(RequestClosed{job, Outcome::kFinished, Tokens(0), Tokens(51), false});
  const std::vector<Action> ended = stepper_.RunTimers(stepper_.now);
  const Forward* forward = Only<Forward>(ended);
  ASSERT_NE(forward, nullptr) << Text(ended);
  EXPECT_EQ(forward->request, RequestId(10));
}

class CoreWithoutEviction : public CoreEviction {
 protected:
  static Fleet Forbidding() {
    Fleet fleet = Small();
    for (ClassSpec& goals : fleet.classes) goals.evictable = false;
    return fleet;
  }
  CoreWithoutEviction() : CoreEviction(Forbidding()) {}
};

TEST_F(CoreWithoutEviction, JobsOfAClassThatIsNotEvictableGoOn) {
  EXPECT_EQ(Burst(), nullptr);
  EXPECT_TRUE(burst_.empty()) << Text(burst_);
}

}  // namespace
}  // namespace penstock
