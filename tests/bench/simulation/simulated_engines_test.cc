#include "bench/simulation/engines/simulated_engines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/bench/simulation/simulation_fixture.h"

namespace penstock::bench {
namespace {

class SimulatedEnginesTest : public ::testing::Test {
 protected:
  void Build(const SimulatedFleetSpec& spec) {
    spec_ = spec;
    std::vector<ReplicaPlace> places;
    for (const SimulatedReplica& replica : spec_.replicas) {
      places.push_back({{replica.gpus.begin(), replica.gpus.end()}, {ModelId(0)}});
    }
    gpus_.emplace();
    gpus_->Place(places, 1, Instant());
    engines_.emplace(spec_, events_, *gpus_);
  }
  static simulated::Sequence SequenceOf(simulated::SequenceId id, int64_t prompt = 100, int64_t output = 3) {
    simulated::Sequence sequence;
    sequence.id = id;
    sequence.prompt = Tokens(prompt);
    sequence.output = Tokens(output);
    return sequence;
  }
  // Takes the next event; a step's end is applied and counted.
  Scheduled Step() {
    const Scheduled event = events_.Next();
    if (event.kind == Occurrence::kStepEnd) {
      if (auto outcome = engines_->EndStep(event.subject, event.detail)) {
        ends_.push_back(event.at);
        tokens_ += outcome->tokens.size();
        engines_->ContinueAfterStep(event.subject);
      }
    } else if (event.kind == Occurrence::kWakes) {
      engines_->Wake(event.subject);
    } else if (event.kind == Occurrence::kDozes) {
      engines_->Doze(event.subject, event.detail);
    }
    return event;
  }
  void RunAll() {
    while (!events_.empty()) Step();
  }

  SimulatedFleetSpec spec_;
  EventQueue events_;
  std::optional<GpuAccounts> gpus_;
  std::optional<SimulatedEngines> engines_;
  std::vector<Instant> ends_;
  size_t tokens_ = 0;
};

TEST_F(SimulatedEnginesTest, ASequenceMakesItsTokensStepByStep) {
  Build(FleetOf(1));
  ASSERT_TRUE(engines_->Submit(0, SequenceOf(1)));
  RunAll();
  EXPECT_EQ(tokens_, 3u);
  ASSERT_EQ(ends_.size(), 3u);
  EXPECT_EQ(ends_[0], Instant() + Duration::Milliseconds(20)) << "10 ms and 100 prompt tokens of 0.1 ms";
  EXPECT_EQ(ends_[2] - ends_[1], Duration::Milliseconds(10));
}

TEST_F(SimulatedEnginesTest, StepsCountByWhatTheyAreSpentOn) {
  SimulatedFleetSpec spec = FleetOf(1);
  spec.replicas[0].coefficients = {10, 2, 30, 0.1, 0};
  spec.replicas[0].slowdown = 2;
  Build(spec);
  engines_->Submit(0, SequenceOf(1));
  RunAll();
  // A prefill step, then two steps that decode one sequence with 101 and 102 tokens of KV; all at half the speed.
  const StepTime time = engines_->Totals().step_times.front();
  EXPECT_NEAR(time.floor, 2 * 3 * 0.010, 1e-9);
  EXPECT_NEAR(time.prefill, 2 * 100 * 0.0001, 1e-9);
  EXPECT_NEAR(time.decode, 2 * 2 * 0.002, 1e-9);
  EXPECT_NEAR(time.kv_reads, 2 * (0.101 + 0.102) * 0.030, 1e-9);
  EXPECT_EQ(time.recompute, 0);
  EXPECT_NEAR(time.total(), (ends_.back() - Instant()).seconds(), 1e-6);
}

TEST_F(SimulatedEnginesTest, APreemptedSequenceIsRecomputed) {
  Build(FleetOf(1, 64));
  // Both fit at first; the second one is preempted as they grow, and reads its 30 tokens and more again.
  engines_->Submit(0, SequenceOf(1, 20, 30));
  engines_->Submit(0, SequenceOf(2, 20, 30));
  RunAll();
  ASSERT_GT(engines_->Totals().recomputed_tokens, 0);
  EXPECT_NEAR(engines_->Totals().step_times.front().recompute,
              0.0001 * static_cast<double>(engines_->Totals().recomputed_tokens), 1e-9);
}

TEST_F(SimulatedEnginesTest, ASequenceLongerThanTheContextIsRejected) {
  Build(FleetOf(1, 64));
  EXPECT_FALSE(engines_->Submit(0, SequenceOf(1, 5000)));
  EXPECT_TRUE(events_.empty());
}

TEST_F(SimulatedEnginesTest, ANeighbourOnTheGpuMovesTheEndOfAStep) {
  SimulatedFleetSpec spec = FleetOf(2);
  for (SimulatedReplica& replica : spec.replicas) replica.gpus = {0};
  Build(spec);
  engines_->Submit(0, SequenceOf(1, 100, 1));
  engines_->Submit(1, SequenceOf(2, 100, 1));
  RunAll();
  ASSERT_EQ(ends_.size(), 2u) << "outdated ends count for nothing";
  EXPECT_EQ(ends_[1], Instant() + Duration::Milliseconds(40)) << "two steps of 20 ms share one GPU";
}

TEST_F(SimulatedEnginesTest, AStepThatBeginsInASlowdownTakesLonger) {
  SimulatedFleetSpec spec = FleetOf(1);
  spec.replicas[0].slowdown = 3;
  spec.replicas[0].slow_to = Duration::Milliseconds(30);
  Build(spec);
  engines_->Submit(0, SequenceOf(1, 100, 2));
  RunAll();
  ASSERT_EQ(ends_.size(), 2u);
  EXPECT_EQ(ends_[0], Instant() + Duration::Milliseconds(60));
  EXPECT_EQ(ends_[1] - ends_[0], Duration::Milliseconds(10));
}

TEST_F(SimulatedEnginesTest, AnIdleEngineSleepsAndWakesForTheNextSequence) {
  SimulatedFleetSpec spec = FleetOf(1);
  spec.replicas[0].sleep_after = Duration::Seconds(5);
  spec.replicas[0].wake = Duration::Seconds(1);
  Build(spec);
  engines_->ScheduleFaults();
  EXPECT_EQ(Step().kind, Occurrence::kDozes);
  engines_->Submit(0, SequenceOf(1, 100, 1));
  EXPECT_EQ(Step().kind, Occurrence::kWakes);
  EXPECT_EQ(events_.elapsed(), Duration::Seconds(6));
  Step();
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_EQ(ends_[0], Instant() + Duration::Seconds(6) + Duration::Milliseconds(20));
  EXPECT_EQ(Step().kind, Occurrence::kDozes);
  gpus_->SettleAll(events_.now() + Duration::Seconds(1));
  EXPECT_NEAR(gpus_->time(0)[GpuState::kAsleep], 2, 0.1) << "before the wake, after the doze";
}

TEST_F(SimulatedEnginesTest, ASleepWhoseIdleTimeEndedDoesNotHappen) {
  SimulatedFleetSpec spec = FleetOf(1);
  spec.replicas[0].sleep_after = Duration::Seconds(5);
  Build(spec);
  engines_->ScheduleFaults();
  engines_->Submit(0, SequenceOf(1, 100, 1));
  RunAll();
  gpus_->SettleAll(events_.now());
  EXPECT_EQ(gpus_->time(0)[GpuState::kAsleep], 0) << "the sleep of second 5 is outdated";
  EXPECT_EQ(events_.elapsed(), Duration::Seconds(5) + Duration::Milliseconds(20));
}

TEST_F(SimulatedEnginesTest, ADeadEngineLosesItsStepAndGivesElasticMemoryBack) {
  SimulatedFleetSpec spec = FleetOf(2);
  spec.elastic = {Bytes(64 * 100)};
  for (SimulatedReplica& replica : spec.replicas) {
    replica.elastic = 0;
    replica.limits.block_bytes = Bytes(100);
    replica.limits.kv_tokens = Tokens(1024);
  }
  Build(spec);
  engines_->Submit(0, SequenceOf(1, 1000, 1));
  engines_->Submit(1, SequenceOf(2, 1000, 1));
  EXPECT_EQ(engines_->Gauges(1).waiting, 1) << "replica 0 has the memory";
  const std::array<simulated::SequenceId, 1> lost = {1};
  engines_->Die(0, lost);
  EXPECT_TRUE(engines_->IsDown(0));
  engines_->StartNeighboursInMemory(0);
  RunAll();
  EXPECT_EQ(tokens_, 1u) << "only replica 1 made its token";
  engines_->Rise(0);
  EXPECT_FALSE(engines_->IsDown(0));
  ASSERT_TRUE(engines_->Submit(0, SequenceOf(1, 1000, 1)));
  RunAll();
  EXPECT_EQ(tokens_, 2u);
}

TEST_F(SimulatedEnginesTest, ADeadEngineMayDieAgainAndServesOnceItIsBack) {
  Build(FleetOf(1, 1024));
  ASSERT_TRUE(engines_->Submit(0, SequenceOf(1)));
  const std::array<simulated::SequenceId, 1> lost = {1};
  engines_->Die(0, lost);
  engines_->Die(0, {});
  engines_->Rise(0);
  ASSERT_TRUE(engines_->Submit(0, SequenceOf(2)));
  RunAll();
  EXPECT_EQ(tokens_, 3u);
}

TEST_F(SimulatedEnginesTest, AnEngineMayFallAsleepInTheStepOfASequenceThatLeft) {
  SimulatedFleetSpec spec = FleetOf(1);
  spec.fleet.replicas[0].sleep.emplace();
  spec.replicas[0].wake = Duration::Milliseconds(10);
  Build(spec);
  const auto order = [&](bool wake) {
    engines_->Order(0, wake);
    while (!events_.empty() && engines_->orders().residency(0) != (wake ? Residency::kAwake : Residency::kAsleep)) {
      const Scheduled event = events_.Next();
      if (event.kind == Occurrence::kOrderEnds) engines_->EndOrder(0, event.detail);
    }
  };
  order(/*wake=*/true);
  ASSERT_TRUE(engines_->Submit(0, SequenceOf(1, 600)));
  engines_->Abort(0, 1);
  order(/*wake=*/false);
  order(/*wake=*/true);
  ASSERT_TRUE(engines_->Submit(0, SequenceOf(2)));
  RunAll();
  EXPECT_EQ(tokens_, 3u);
}

TEST_F(SimulatedEnginesTest, AnEngineThatOnlyDrainedGoesOnWithItsStep) {
  Build(FleetOf(1, 1024));
  ASSERT_TRUE(engines_->Submit(0, SequenceOf(1, 100, 3)));
  engines_->Rise(0);
  ASSERT_TRUE(engines_->Submit(0, SequenceOf(2, 100, 3)));
  RunAll();
  EXPECT_EQ(tokens_, 6u);
}

TEST_F(SimulatedEnginesTest, CountsOfADeadMachineAreNotLost) {
  Build(FleetOf(1, 320));
  engines_->Submit(0, SequenceOf(1, 150, 100));
  engines_->Submit(0, SequenceOf(2, 150, 100));
  while (engines_->Totals().preemptions == 0 && !events_.empty()) Step();
  for (int i = 0; i < 200 && engines_->Totals().recomputed_tokens == 0; ++i) Step();
  const int64_t preemptions = engines_->Totals().preemptions;
  const int64_t recomputed = engines_->Totals().recomputed_tokens;
  ASSERT_GT(preemptions, 0);
  ASSERT_GT(recomputed, 0);
  const std::array<simulated::SequenceId, 2> lost = {1, 2};
  engines_->Die(0, lost);
  EXPECT_EQ(engines_->Totals().preemptions, preemptions);
  engines_->Rise(0);
  EXPECT_EQ(engines_->Totals().preemptions, preemptions);
  EXPECT_EQ(engines_->Totals().recomputed_tokens, recomputed);
}

}  // namespace
}  // namespace penstock::bench
