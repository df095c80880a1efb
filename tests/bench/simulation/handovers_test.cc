#include "bench/simulation/engines/handovers.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/bench/simulation/simulation_fixture.h"

namespace penstock::bench {
namespace {

// Replica 0 computes prompts of replica 1, and hands a token over in 1 ms.
class HandoversTest : public ::testing::Test {
 protected:
  HandoversTest() {
    spec_.fleet.replicas[0].role = EngineRole::kPrefill;
    spec_.fleet.replicas[0].transfer = 1e-3;
    spec_.fleet.replicas[1].role = EngineRole::kDecode;
    gpus_.Place({{{0}, {ModelId(0)}}, {{1}, {ModelId(0)}}}, 1, Instant());
    engines_.emplace(spec_, events_, gpus_);
    handovers_.emplace(spec_, *engines_);
  }
  static Forward ForwardOf(uint64_t request, bool pair) {
    Forward forward{RequestId(request), ReplicaId(1)};
    if (pair) forward.prefill = PrefillOrder{ReplicaId(0)};
    return forward;
  }
  simulated::Sequence Reach(uint64_t request, simulated::SequenceId id) {
    simulated::Sequence sequence;
    sequence.id = id;
    sequence.prompt = Tokens(100);
    sequence.output = Tokens(3);
    handovers_->Reach(request, sequence);
    return sequence;
  }
  // The prefill engine computes the prompt of the request as sequence 10.
  void Compute(uint64_t request) {
    handovers_->Begin(ForwardOf(request, true));
    ASSERT_TRUE(engines_->Submit(0, Reach(request, 10)));
    const Scheduled end = events_.Next();
    const auto outcome = engines_->EndStep(end.subject, end.detail);
    ASSERT_TRUE(outcome.has_value());
    ASSERT_EQ(outcome->ended.size(), 1u);
    EXPECT_TRUE(outcome->tokens.empty());
    EXPECT_EQ(handovers_->Computed(request, 10), ReplicaId(1));
  }
  Blocks UsedOfPrefill() { return engines_->Gauges(0).used; }

  SimulatedFleetSpec spec_ = FleetOf(2);
  EventQueue events_;
  GpuAccounts gpus_;
  std::optional<SimulatedEngines> engines_;
  std::optional<Handovers> handovers_;
};

TEST_F(HandoversTest, ARequestWithoutAFirstStageGoesWhereItIsForwarded) {
  EXPECT_EQ(handovers_->Begin(ForwardOf(1, false)), ReplicaId(1));
  EXPECT_FALSE(handovers_->InPrefill(1));
  EXPECT_FALSE(handovers_->Handed(1));
  EXPECT_EQ(Reach(1, 10).arrived, Tokens(0));
}

TEST_F(HandoversTest, APromptIsComputedThereAndItsCacheStaysUntilItIsHandedOver) {
  EXPECT_EQ(handovers_->Begin(ForwardOf(1, true)), ReplicaId(0));
  EXPECT_TRUE(handovers_->InPrefill(1));
  Compute(1);
  EXPECT_FALSE(handovers_->InPrefill(1));
  EXPECT_TRUE(handovers_->Handed(1));
  EXPECT_EQ(handovers_->TransferOf(1, Tokens(100)), Duration::Milliseconds(100));
  EXPECT_EQ(UsedOfPrefill(), Blocks(7));
  const simulated::Sequence at_decode = Reach(1, 11);
  EXPECT_EQ(at_decode.arrived, Tokens(100));
  EXPECT_FALSE(at_decode.embedding || at_decode.keeps);
  EXPECT_EQ(UsedOfPrefill(), Blocks(0));
}

TEST_F(HandoversTest, ARequestThatLeavesFreesTheCacheThatWaitsForIt) {
  Compute(1);
  handovers_->Drop(1);
  EXPECT_EQ(UsedOfPrefill(), Blocks(0));
  EXPECT_FALSE(handovers_->Handed(1));
  Compute(2);
  handovers_->Begin(ForwardOf(2, true));
  EXPECT_EQ(UsedOfPrefill(), Blocks(0)) << "it was placed again";
}

TEST_F(HandoversTest, TheCacheOfADeadEngineIsLost) {
  Compute(1);
  engines_->Die(0, {});
  EXPECT_EQ(Reach(1, 11).arrived, Tokens(0));
}

}  // namespace
}  // namespace penstock::bench
