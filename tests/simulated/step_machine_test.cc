// The steps of a step machine: admission, prefill, tokens, ends and aborts.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulated/step_machine_steps.h"

namespace penstock::simulated {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(StepMachine, TheFirstTokenComesWithTheStepThatCompletesThePrefill) {
  StepMachine machine(Pool(4096));
  ASSERT_TRUE(machine.Submit(Of(1, 1000, 2)));
  const Step first = OneStep(machine);
  EXPECT_EQ(first.load.prefill.tokens, Tokens(512));
  EXPECT_THAT(first.outcome.tokens, IsEmpty());
  const Step second = OneStep(machine);
  EXPECT_EQ(second.load.prefill.tokens, Tokens(488));
  EXPECT_THAT(second.outcome.tokens, ElementsAre(TokenMade{1, true}));
  const Step third = OneStep(machine);
  EXPECT_EQ(third.load.sequences, 1);
  EXPECT_EQ(third.load.kv, Tokens(1001));
  EXPECT_THAT(third.outcome.tokens, ElementsAre(TokenMade{1, false}));
  EXPECT_THAT(third.outcome.ended, ElementsAre(SequenceEnded{1, SequenceEnd::kStop, Tokens(2), Tokens(0)}));
  EXPECT_FALSE(machine.HasWork());
}

TEST(StepMachine, DecodesTakeTheirShareOfTheBudgetBeforePrompts) {
  StepMachine machine(Pool(8192));
  machine.Submit(Of(1, 10, 100));
  machine.Submit(Of(2, 10, 100));
  OneStep(machine);
  machine.Submit(Of(3, 1000, 1));
  const Step step = OneStep(machine);
  EXPECT_EQ(step.load.sequences, 2);
  EXPECT_EQ(step.load.prefill.tokens, Tokens(510));
}

TEST(StepMachine, ThePrefillOfAllStepsIsThatOfThePromptsHoweverTheyAreCut) {
  for (const int64_t budget : {64, 100, 512, 4096}) {
    EngineLimits limits = Pool(16'384);
    limits.batch_budget = Tokens(budget);
    StepMachine machine(limits);
    machine.Submit(Of(1, 5000, 40));
    machine.Submit(Of(2, 33, 60));
    machine.Submit(Of(3, 7001, 5));
    PrefillWork sum;
    while (machine.HasWork()) sum += OneStep(machine).load.prefill;
    PrefillWork prompts;
    for (const int64_t prompt : {5000, 33, 7001}) prompts += PrefillOf(Tokens(0), Tokens(prompt));
    EXPECT_EQ(sum, prompts) << budget;
  }
}

TEST(StepMachine, BlocksAreTakenForExactlyTheScheduledTokens) {
  StepMachine machine(Pool(8192));
  machine.Submit(Of(1, 600, 10));
  OneStep(machine);
  EXPECT_EQ(machine.Gauges().used, Blocks(32));  // 512 tokens.
  OneStep(machine);
  EXPECT_EQ(machine.Gauges().used, Blocks(38));  // 600 tokens.
}

TEST(StepMachine, APromptWaitsUntilBlocksForAllOfItAreFree) {
  StepMachine machine(Pool(1024));
  machine.Submit(Of(1, 500, 50));
  OneStep(machine);
  machine.Submit(Of(2, 600, 1));
  machine.Submit(Of(3, 10, 1));
  OneStep(machine);
  EXPECT_EQ(machine.Gauges().running, 1) << "the third fits but stands behind the second";
  EXPECT_EQ(machine.Gauges().waiting, 2);
}

TEST(StepMachine, ThePromptGateDoesNotReserveForOtherHalfComputedPrompts) {
  EngineLimits limits = Pool(1024);
  limits.batch_budget = Tokens(100);
  StepMachine machine(limits);
  machine.Submit(Of(1, 150, 5));
  OneStep(machine);
  machine.Submit(Of(2, 900, 1));
  OneStep(machine);  // 1 computes its last 50 tokens and 10 blocks; 2 needs 57 of the 54 blocks that are left.
  EXPECT_EQ(machine.Gauges().running, 1);
  machine.Abort(1);
  OneStep(machine);
  EXPECT_EQ(machine.Gauges().running, 1);
  EXPECT_EQ(machine.Gauges().waiting, 0);
}

TEST(StepMachine, NoMoreThanMaxSequencesRun) {
  EngineLimits limits = Pool(4096);
  limits.max_sequences = 2;
  StepMachine machine(limits);
  for (SequenceId id = 1; id <= 3; ++id) machine.Submit(Of(id, 16, 4));
  OneStep(machine);
  EXPECT_EQ(machine.Gauges().running, 2);
  EXPECT_EQ(machine.Gauges().waiting, 1);
}

TEST(StepMachine, AbortGivesEverythingBackAtOnce) {
  StepMachine machine(Pool(4096));
  machine.Submit(Of(1, 100, 50));
  machine.Submit(Of(2, 100, 50));
  OneStep(machine);
  machine.BeginStep();
  EXPECT_TRUE(machine.Abort(1));
  EXPECT_FALSE(machine.Abort(1));
  EXPECT_THAT(machine.EndStep().tokens, ElementsAre(TokenMade{2, false}));
  EXPECT_EQ(machine.Gauges().used, Blocks(7));
  EXPECT_EQ(machine.Gauges().aborted, 1);
}

TEST(StepMachine, ASlotReusedDuringAStepMakesNoToken) {
  StepMachine machine(Pool(4096));
  machine.Submit(Of(1, 100, 50));
  machine.BeginStep();
  machine.Abort(1);
  machine.Submit(Of(1, 100, 50));
  EXPECT_THAT(machine.EndStep().tokens, IsEmpty());
  EXPECT_EQ(machine.Gauges().waiting, 1);
}

TEST(StepMachine, ASequenceEndsWhenTheContextIsFull) {
  EngineLimits limits = Pool(4096);
  limits.max_context = Tokens(20);
  StepMachine machine(limits);
  EXPECT_FALSE(machine.Submit(Of(1, 20, 1)));
  EXPECT_TRUE(machine.Submit(Of(2, 18, 10)));
  OneStep(machine);
  EXPECT_THAT(OneStep(machine).outcome.ended,
              ElementsAre(SequenceEnded{2, SequenceEnd::kContextFull, Tokens(2), Tokens(0)}));
}

TEST(StepMachine, AnEmbeddingEndsWithItsPrefill) {
  StepMachine machine(Pool(4096));
  Sequence sequence = Of(1, 100, 0);
  sequence.embedding = true;
  ASSERT_TRUE(machine.Submit(sequence));
  const Step step = OneStep(machine);
  EXPECT_THAT(step.outcome.tokens, IsEmpty());
  EXPECT_THAT(step.outcome.ended, SizeIs(1));
  EXPECT_EQ(machine.Gauges().used, Blocks(0));
}

TEST(StepMachine, WhatCanNeverRunIsNotQueued) {
  StepMachine machine(Pool(64));
  EXPECT_FALSE(machine.Submit(Of(1, 64, 1)));
  EXPECT_FALSE(machine.Submit(Of(1, 0, 1)));
  EXPECT_FALSE(machine.Submit(Of(1, 5, 0)));
  EXPECT_TRUE(machine.Submit(Of(1, 5, 1)));
  EXPECT_FALSE(machine.Submit(Of(1, 5, 1)));
}

TEST(StepMachine, RunningTellsWhatEachSequenceHolds) {
  StepMachine machine(Pool(4096));
  machine.Submit(Of(7, 100, 50));
  OneStep(machine);
  OneStep(machine);
  const auto held = machine.Running();
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(held[0].id, 7u);
  EXPECT_EQ(held[0].computed, Tokens(101));
  EXPECT_EQ(held[0].generated, Tokens(2));
}

}  // namespace
}  // namespace penstock::simulated
