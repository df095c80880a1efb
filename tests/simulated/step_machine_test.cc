#include "backends/simulated/machine/step_machine.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

EngineLimits Pool(int64_t tokens) {
  EngineLimits limits;
  limits.kv_tokens = Tokens(tokens);
  limits.batch_budget = Tokens(512);
  return limits;
}

Sequence Of(SequenceId id, int64_t prompt, int64_t output) {
  Sequence sequence;
  sequence.id = id;
  sequence.prompt = Tokens(prompt);
  sequence.output = Tokens(output);
  return sequence;
}

struct Step {
  StepLoad load;
  StepOutcome outcome;
};

Step OneStep(StepMachine& machine) {
  Step step;
  step.load = machine.BeginStep();
  step.outcome = machine.EndStep();
  return step;
}

TEST(StepMachine, TheFirstTokenComesWithTheStepThatCompletesThePrefill) {
  StepMachine machine(Pool(4096));
  ASSERT_TRUE(machine.Submit(Of(1, 1000, 2)));
  const Step first = OneStep(machine);
  EXPECT_EQ(first.load.prefill, Tokens(512));
  EXPECT_THAT(first.outcome.tokens, IsEmpty());
  const Step second = OneStep(machine);
  EXPECT_EQ(second.load.prefill, Tokens(488));
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
  EXPECT_EQ(step.load.prefill, Tokens(510));
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

TEST(StepMachine, TheLatestIsPreemptedAndGoesToTheFrontOfWaiting) {
  StepMachine machine(Pool(64));
  machine.Submit(Of(1, 31, 30));
  machine.Submit(Of(2, 31, 30));
  OneStep(machine);
  OneStep(machine);  // Both hold 32 tokens, two blocks each: the pool is full.
  machine.Submit(Of(3, 1, 1));
  const Step step = OneStep(machine);
  EXPECT_EQ(step.load.preempted, 1);
  EXPECT_THAT(step.outcome.tokens, ElementsAre(TokenMade{1, false}));
  EXPECT_EQ(machine.Gauges().running, 1) << "nothing is admitted in a step that preempted";
  EXPECT_EQ(machine.Gauges().waiting, 2);
  EXPECT_EQ(machine.Gauges().preemptions, 1);
  const Step next = OneStep(machine);
  EXPECT_THAT(next.outcome.tokens, ElementsAre(TokenMade{1, false})) << "the preempted one stands before the third";
}

TEST(StepMachine, APreemptedSequenceComputesItsTokensAgainAndGoesOn) {
  EngineLimits limits = Pool(64);
  limits.prefix_cache = false;
  StepMachine machine(limits);
  machine.Submit(Of(1, 31, 4));
  machine.Submit(Of(2, 31, 4));
  int64_t second = 0;
  bool first_again = false;
  while (machine.HasWork()) {
    for (const TokenMade& token : OneStep(machine).outcome.tokens) {
      if (token.id != 2) continue;
      if (second++ > 0 && token.first) first_again = true;
    }
  }
  EXPECT_EQ(second, 4);
  EXPECT_FALSE(first_again);
  EXPECT_EQ(machine.Gauges().preemptions, 1);
  EXPECT_EQ(machine.Gauges().recomputed_tokens, 32);
  EXPECT_EQ(machine.Gauges().prompt_tokens, 62);
}

TEST(StepMachine, APreemptedSequenceFindsItsOwnCachedBlocksAgain) {
  StepMachine machine(Pool(64));
  machine.Submit(Of(1, 31, 3));
  machine.Submit(Of(2, 31, 4));
  while (machine.HasWork()) OneStep(machine);
  EXPECT_EQ(machine.Gauges().preemptions, 1);
  EXPECT_EQ(machine.Gauges().recomputed_tokens, 16) << "one of its two blocks was taken by the first sequence";
}

TEST(StepMachine, AStepWithoutPreemptionAfterwardsAdmitsAgain) {
  StepMachine machine(Pool(64));
  machine.Submit(Of(1, 31, 3));
  machine.Submit(Of(2, 31, 30));
  for (int i = 0; i < 3; ++i) OneStep(machine);
  EXPECT_EQ(machine.Gauges().waiting, 1);
  EXPECT_EQ(machine.Gauges().running, 0);
  OneStep(machine);
  EXPECT_EQ(machine.Gauges().running, 1);
}

TEST(StepMachine, KnownPrefixBlocksAreComputedOnce) {
  StepMachine machine(Pool(4096));
  Sequence sequence = Of(1, 100, 1);
  sequence.prefix_blocks = {11, 12, 13, 14, 15, 16};
  machine.Submit(sequence);
  OneStep(machine);
  sequence.id = 2;
  sequence.prefix_blocks = {11, 12, 13, 24, 25, 26};
  machine.Submit(sequence);
  const Step step = OneStep(machine);
  EXPECT_EQ(step.load.prefill, Tokens(52));
  ASSERT_THAT(step.outcome.ended, SizeIs(1));
  EXPECT_EQ(step.outcome.ended[0].cached_prompt, Tokens(48));
  EXPECT_EQ(machine.Gauges().prefix_queries, 200);
  EXPECT_EQ(machine.Gauges().prefix_hits, 48);
}

TEST(StepMachine, AtLeastOneTokenOfACachedPromptIsComputed) {
  StepMachine machine(Pool(4096));
  Sequence sequence = Of(1, 32, 1);
  sequence.prefix_blocks = {1, 2};
  machine.Submit(sequence);
  OneStep(machine);
  sequence.id = 2;
  machine.Submit(sequence);
  EXPECT_EQ(OneStep(machine).load.prefill, Tokens(16));
}

TEST(StepMachine, SharedBlocksCountOnce) {
  StepMachine machine(Pool(4096));
  Sequence sequence = Of(1, 100, 50);
  sequence.prefix_blocks = {11, 12, 13, 14, 15, 16};
  machine.Submit(sequence);
  OneStep(machine);
  sequence.id = 2;
  machine.Submit(sequence);
  OneStep(machine);
  EXPECT_EQ(machine.Gauges().used, Blocks(8)) << "6 shared and one of each";
  machine.Abort(1);
  EXPECT_EQ(machine.Gauges().used, Blocks(7));
}

TEST(StepMachine, CachedBlocksAreForgottenTailFirst) {
  StepMachine machine(Pool(160));
  Sequence sequence = Of(1, 65, 1);
  sequence.prefix_blocks = {1, 2, 3, 4};
  machine.Submit(sequence);
  OneStep(machine);
  machine.Submit(Of(2, 120, 1));  // 8 blocks: the 6 without content, then the tails 4 and 3.
  OneStep(machine);
  sequence.id = 3;
  machine.Submit(sequence);
  EXPECT_EQ(OneStep(machine).load.prefill, Tokens(65 - 32));
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

TEST(StepMachine, AnExhaustedSharedPoolFailsEveryProcessingSequenceAndNoWaitingOne) {
  EngineLimits limits = Pool(64);
  limits.overflow = Overflow::kError;
  limits.block = Tokens(1);
  limits.max_sequences = 2;
  StepMachine machine(limits);
  machine.Submit(Of(1, 30, 30));
  machine.Submit(Of(2, 30, 30));
  machine.Submit(Of(3, 30, 1));
  Step step;
  for (int i = 0; i < 10 && step.outcome.ended.empty(); ++i) step = OneStep(machine);
  EXPECT_THAT(step.outcome.ended, ElementsAre(SequenceEnded{1, SequenceEnd::kPoolExhausted, Tokens(3), Tokens(0)},
                                              SequenceEnded{2, SequenceEnd::kPoolExhausted, Tokens(3), Tokens(0)}));
  EXPECT_EQ(machine.Gauges().waiting, 1);
  EXPECT_EQ(machine.Gauges().used, Blocks(0));
  EXPECT_EQ(machine.Gauges().failed, 2);
  EXPECT_EQ(machine.Gauges().preemptions, 0);
  EXPECT_THAT(OneStep(machine).outcome.ended, ElementsAre(SequenceEnded{3, SequenceEnd::kStop, Tokens(1), Tokens(0)}));
}

TEST(StepMachine, ASharedPoolAdmitsAPromptThatDoesNotFitAndThenFailsAll) {
  EngineLimits limits = Pool(64);
  limits.overflow = Overflow::kError;
  limits.block = Tokens(1);
  StepMachine machine(limits);
  machine.Submit(Of(1, 40, 30));
  OneStep(machine);
  machine.Submit(Of(2, 40, 30));
  EXPECT_THAT(OneStep(machine).outcome.ended, SizeIs(2));
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
