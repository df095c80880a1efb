#include "router/core/grey/grey_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "tests/core/core_test_support.h"

namespace penstock::testing {
namespace {
constexpr double kStep = 0.01;  // Seconds of a step of MakeFleet's replicas.

// Replicas with two streams each, whose steps take the time that a test says.
class GreyWatchTest : public ::testing::Test {
 protected:
  void Start(const Fleet& fleet, const std::vector<double>& factors = {}) {
    size_ = fleet.replicas.size();
    stepper_ = std::make_unique<CoreStepper>(fleet);
    factors_ = factors;
    factors_.resize(size_, 1);
    next_.assign(size_, stepper_->now);
    for (size_t i = 0; i < 2 * size_; ++i) Add();
    Run(3);
  }
  void Start(int replicas) { Start(MakeFleet({.replicas = replicas})); }

  // One more stream; the replica that takes it, or -1.
  int Add() {
    for (const Action& action : stepper_->Arrive(++last_, 100)) {
      const Forward* forward = std::get_if<Forward>(&action);
      if (forward == nullptr) continue;
      stepper_->Send(FirstToken{forward->request});
      at_[last_] = static_cast<int>(forward->replica.value());
      return at_[last_];
    }
    stepper_->Finish(last_, 0);
    return -1;
  }
  // The replicas that take so many streams, which end at once.
  std::map<int, int> Place(int streams) {
    std::map<int, int> taken;
    for (int i = 0; i < streams; ++i) {
      const int replica = Add();
      ++taken[replica];
      if (replica >= 0) EndStream(last_);
    }
    return taken;
  }
  void EndStream(uint64_t id) {
    stepper_->Finish(id, 10);
    at_.erase(id);
  }
  void Empty(int replica) {
    for (uint64_t id = 1; id <= last_; ++id) {
      if (at_.count(id) > 0 && at_[id] == replica) EndStream(id);
    }
  }
  bool Busy(size_t replica) const {
    return std::any_of(at_.begin(), at_.end(),
                       [&](const auto& row) { return row.second == static_cast<int>(replica); });
  }

  // A factor of 0: it stands still.
  void Slow(size_t replica, double factor) {
    factors_[replica] = factor;
    next_[replica] = stepper_->now + Duration::Seconds(kStep * factor);
  }
  // Steps of all replicas for so many seconds. The steps of each.
  std::vector<int> Run(
      double seconds, const std::function<bool()>& until = [] { return false; }) {
    std::vector<int> steps(size_, 0);
    const Instant end = stepper_->now + Duration::Seconds(seconds);
    while (!until()) {
      size_t first = size_;
      for (size_t i = 0; i < size_; ++i) {
        if (factors_[i] > 0 && Busy(i) && (first == size_ || next_[i] < next_[first])) first = i;
      }
      if (first == size_ || next_[first] > end) break;
      stepper_->now = std::max(stepper_->now, next_[first]);
      stepper_->Step(1, static_cast<uint32_t>(first));
      ++steps[first];
      next_[first] = stepper_->now + Duration::Seconds(kStep * factors_[first]);
    }
    if (!until()) stepper_->RunTimers(end);
    return steps;
  }
  GreyView Grey(size_t replica) const { return stepper_->core.View(stepper_->now).replicas[replica].grey; }
  double Derate(size_t replica) const { return Grey(replica).derate; }

  std::unique_ptr<CoreStepper> stepper_;
  size_t size_ = 0;
  uint64_t last_ = 0;
  std::map<uint64_t, int> at_;  // The replica of each stream.
  std::vector<double> factors_;
  std::vector<Instant> next_;
};

class SlowBy : public GreyWatchTest, public ::testing::WithParamInterface<double> {};

TEST_P(SlowBy, AReplicaIsFoundWithinTwentyOfItsStepsAndDeratedByAsMuch) {
  Start(4);
  Slow(1, GetParam());
  const std::vector<int> steps = Run(60, [&] { return Derate(1) > 1; });
  EXPECT_GT(Derate(1), 1);
  EXPECT_LE(steps[1], 20);
  Run(4);
  EXPECT_NEAR(Derate(1), GetParam(), 0.15 * GetParam());
  EXPECT_EQ(Grey(1).cause, GreyCause::kReplica);
  for (const size_t peer : {0, 2, 3}) EXPECT_EQ(Derate(peer), 1);
}
INSTANTIATE_TEST_SUITE_P(Factors, SlowBy, ::testing::Values(2, 4, 10));

TEST_F(GreyWatchTest, TheStepTimesOfADeratedReplicaAreThoseThatAreSeen) {
  Start(3);
  Slow(0, 4);
  Run(4);
  EXPECT_NEAR(1 / stepper_->core.View(stepper_->now).replicas[0].tokens_per_s, 4 * kStep, 0.8 * kStep);
}

TEST_F(GreyWatchTest, WhereAllAreSlowTogetherNobodyIsDerated) {
  Start(4);
  for (size_t i = 0; i < 4; ++i) Slow(i, 4);
  Run(30);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(Grey(i).events, GreyView().events);
}

TEST_F(GreyWatchTest, APauseNowAndThenIsNoFailure) {
  Start(3);
  for (int i = 0; i < 50; ++i) {
    Slow(0, 20);
    Run(20 * kStep + kStep / 2);
    Slow(0, 1);
    Run(0.3);
  }
  EXPECT_EQ(Grey(0).events, GreyView().events);
}

TEST_F(GreyWatchTest, AReplicaThatIsWellAgainReturnsSlowly) {
  Start(3);
  Slow(0, 8);
  Run(5);
  Slow(0, 1);
  Run(2);
  EXPECT_GT(Derate(0), 3);
  Run(30);
  EXPECT_EQ(Derate(0), 1);
  EXPECT_EQ(Grey(0).cause, GreyCause::kNone);
}

TEST_F(GreyWatchTest, ASlowReplicaGetsLessAndOneThatWouldMissTheGoalsGetsNothing) {
  Start(3);
  Slow(0, 20);  // 200 ms per token; the goal is 100 ms.
  Run(10);
  EXPECT_EQ(Place(30)[0], 0);
}

TEST_F(GreyWatchTest, AnIdleSlowReplicaIsTriedByOneRequestAfterAPauseThatGrows) {
  Start(3);
  Slow(0, 20);
  Run(10);
  Empty(0);
  EXPECT_EQ(Place(5)[0], 0);
  Run(GreyWatch::kFirstPause.seconds() + 0.1);
  EXPECT_EQ(Add(), 0) << "the trial";
  EXPECT_NE(Add(), 0) << "one is enough";
  Slow(0, 20);
  Run(5);  // It is still slow.
  Empty(0);
  Run(GreyWatch::kFirstPause.seconds() + 0.1 - 0.2);
  EXPECT_NE(Add(), 0) << "the pause is twice as long";
  Run(GreyWatch::kFirstPause.seconds() + 0.3);
  EXPECT_EQ(Add(), 0);
}

TEST_F(GreyWatchTest, AReplicaThatStandsStillTakesNothingUntilItsNextStep) {
  Start(3);
  Slow(0, 0);
  Run(GreyWatch::kStallSeconds + 0.1);
  EXPECT_TRUE(Grey(0).stalled);
  EXPECT_EQ(Place(20)[0], 0);
  Slow(0, 1);
  Run(0.1);
  EXPECT_FALSE(Grey(0).stalled);
  EXPECT_EQ(Derate(0), 1) << "one stall is no habit";
  for (const uint32_t peer : {1, 2}) stepper_->Send(ReplicaHealth{ReplicaId(peer), Health::kDown});
  EXPECT_EQ(Add(), 0);
}

TEST_F(GreyWatchTest, AReplicaThatStandsStillAgainAndAgainIsDeratedByTheTimeThatItLoses) {
  Start(3);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Derate(0), 1) << "stalls before: " << i;
    Slow(0, 0);
    Run(1.5);
    Slow(0, 1);
    Run(0.5);
  }
  EXPECT_GT(Derate(0), 2.5);
  EXPECT_EQ(Grey(0).cause, GreyCause::kStall);
  Run(30);
  EXPECT_EQ(Derate(0), 1);
}

TEST_F(GreyWatchTest, WhereNobodyGoesOnNobodyIsStalled) {
  Start(3);
  for (size_t i = 0; i < 3; ++i) Slow(i, 0);
  Run(3);
  stepper_->Arrive(++last_, 100);
  for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(Grey(i).stalled);
}

TEST_F(GreyWatchTest, AllReplicasOfAGpuAreSlowForTheGpu) {
  Fleet fleet = MakeFleet({.replicas = 4, .max_sequences = 2});
  fleet.replicas[1].gpus = {0};
  Start(fleet, {2, 2});  // Two share the GPU: twice a step is usual.
  EXPECT_EQ(Grey(0).events, GreyView().events);
  Slow(0, 8);
  Slow(1, 8);
  Run(4);
  EXPECT_EQ(Grey(0).cause, GreyCause::kGpu);
  EXPECT_EQ(Grey(1).cause, GreyCause::kGpu);
}

TEST_F(GreyWatchTest, AllGpusOfANodeAreSlowForTheNode) {
  Fleet fleet = MakeFleet({.replicas = 5});
  fleet.gpus = {{"n1/g0"}, {"n1/g1"}, {"n2/g0"}, {"n2/g1"}, {"n3/g0"}};
  Start(fleet);
  Slow(0, 4);
  Slow(1, 4);
  Run(4);
  EXPECT_EQ(Grey(0).cause, GreyCause::kNode);
  EXPECT_EQ(Grey(1).cause, GreyCause::kNode);
  EXPECT_EQ(Grey(2).cause, GreyCause::kNone);
}

TEST_F(GreyWatchTest, TheOnlyReplicaOfAModelIsNeverDerated) {
  Start(1);
  Slow(0, 8);
  Run(20);
  EXPECT_EQ(Grey(0).events, GreyView().events);
}

TEST_F(GreyWatchTest, TheDerateEndsWhenNobodyElseCouldTakeItsLoadOrTheEngineIsNew) {
  Start(2);
  Slow(0, 8);
  Run(5);
  EXPECT_GT(Derate(0), 1);
  stepper_->Send(ReplicaHealth{ReplicaId(1), Health::kDown});
  stepper_->Step(1, 0);
  EXPECT_EQ(Derate(0), 1);

  Start(3);
  Slow(0, 8);
  Run(5);
  stepper_->Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  EXPECT_EQ(Derate(0), 1);
}

TEST_F(GreyWatchTest, AStallEndsWithTheLastStreamOfItsReplica) {
  Start(3);
  Slow(0, 0);
  Run(2);
  ASSERT_TRUE(Grey(0).stalled);
  Empty(0);
  Run(1);
  EXPECT_FALSE(Grey(0).stalled);
  EXPECT_GT(Place(9)[0], 0) << "the next request tells";
}

TEST(GreyRule, LeftOutNothingIsFound) {
  CoreRules rules;
  rules.grey = false;
  PenstockCore core(std::move(rules));
  std::vector<Action> actions;
  Instant now = Instant::FromSeconds(1);
  core.Apply(FleetChanged{MakeFleet({.replicas = 2})}, now, actions);
  for (uint32_t i = 0; i < 2; ++i) core.Apply(ReplicaHealth{ReplicaId(i), Health::kUp}, now, actions);
  for (uint64_t id = 1; id <= 4; ++id) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = ClassId(1);
    arrived.prompt = Tokens(100);
    core.Apply(arrived, now, actions);
    core.Apply(FirstToken{RequestId(id)}, now, actions);
  }
  for (int i = 0; i < 400; ++i) {
    now = now + Duration::Seconds(kStep);
    core.Apply(Progress{{{ReplicaId(0), 1, now}}, {}}, now, actions);
    if (i % 8 == 0) core.Apply(Progress{{{ReplicaId(1), 1, now}}, {}}, now, actions);
  }
  for (const ReplicaView& replica : core.View(now).replicas) EXPECT_EQ(replica.grey.derate, 1);
}

}  // namespace
}  // namespace penstock::testing
