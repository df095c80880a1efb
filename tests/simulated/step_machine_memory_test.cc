// The memory of a step machine: preemption, cached prefixes, shared blocks, exhausted pools.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulated/step_machine_steps.h"

namespace penstock::simulated {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

using Kind = CacheChange::Kind;

std::vector<std::pair<Kind, uint64_t>> Told(const CacheJournal& journal) {
  std::vector<std::pair<Kind, uint64_t>> told;
  for (const CacheChange& change : journal) told.emplace_back(change.kind, change.block);
  return told;
}

TEST(StepMachine, TheChangesOfThePrefixCacheAreWrittenDown) {
  CacheJournal journal;
  StepMachine machine(Pool(64), nullptr, &journal);
  Sequence first = Of(1, 33, 1);
  first.prefix_blocks = {71, 72};
  first.session = "a";
  machine.Submit(first);
  OneStep(machine);
  ASSERT_THAT(Told(journal), ElementsAre(std::pair(Kind::kStored, 71u), std::pair(Kind::kStored, 72u)));
  EXPECT_EQ(journal[0].parent, std::nullopt);
  EXPECT_EQ(journal[1].parent, 71u);
  EXPECT_EQ(journal[1].session, "a");
  journal.clear();
  // The second prompt needs the whole pool: the tail of the first one goes before its head.
  Sequence second = Of(2, 63, 1);
  second.prefix_blocks = {81, 82, 83};
  machine.Submit(second);
  OneStep(machine);
  EXPECT_THAT(Told(journal),
              ElementsAre(std::pair(Kind::kRemoved, 72u), std::pair(Kind::kRemoved, 71u), std::pair(Kind::kStored, 81u),
                          std::pair(Kind::kStored, 82u), std::pair(Kind::kStored, 83u)));
}

TEST(StepMachine, ThePartOfAnAnswerInTheCacheHasANameOfItsOwn) {
  CacheJournal journal;
  StepMachine machine(Pool(64), nullptr, &journal);
  Sequence sequence = Of(1, 31, 20);
  sequence.prefix_blocks = {71};
  machine.Submit(sequence);
  while (machine.HasWork()) OneStep(machine);
  ASSERT_THAT(journal, SizeIs(3));
  EXPECT_EQ(journal[1].parent, 71u);
  EXPECT_EQ(journal[2].parent, journal[1].block);
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

TEST(StepMachine, ACacheThatAnotherEngineReadsStaysUntilItIsReleased) {
  StepMachine machine(Pool(64));
  Sequence sequence = Of(1, 31, 1);
  sequence.embedding = sequence.keeps = true;
  machine.Submit(sequence);
  EXPECT_THAT(OneStep(machine).outcome.ended, SizeIs(1));
  EXPECT_EQ(machine.Gauges().used, Blocks(2));
  EXPECT_EQ(machine.Gauges().running, 0);
  EXPECT_FALSE(machine.HasWork());
  EXPECT_TRUE(machine.Abort(1));
  EXPECT_EQ(machine.Gauges().used, Blocks(0));
  EXPECT_EQ(machine.Gauges().aborted, 0) << "it had ended";
  EXPECT_FALSE(machine.Abort(1));
}

TEST(StepMachine, APromptWhoseCacheArrivedComputesItsLastTokenOnly) {
  StepMachine machine(Pool(4096));
  Sequence sequence = Of(1, 100, 3);
  sequence.arrived = Tokens(100);
  sequence.prefix_blocks = {11, 12, 13, 14, 15, 16};
  machine.Submit(sequence);
  const Step step = OneStep(machine);
  EXPECT_EQ(step.load.prefill, PrefillOf(Tokens(99), Tokens(100)));
  EXPECT_THAT(step.outcome.tokens, ElementsAre(TokenMade{1, true}));
  EXPECT_EQ(machine.Gauges().used, Blocks(7));
  EXPECT_EQ(machine.Gauges().prefix_hits, 0);
  // Its blocks are cached as if they had been computed here.
  sequence.id = 2;
  sequence.arrived = Tokens(0);
  machine.Submit(sequence);
  EXPECT_EQ(OneStep(machine).load.prefill, PrefillOf(Tokens(96), Tokens(100)));
}

TEST(StepMachine, APreemptedSequenceComputesWhatHadArrivedAgain) {
  EngineLimits limits = Pool(64);
  limits.prefix_cache = false;
  StepMachine machine(limits);
  machine.Submit(Of(1, 31, 4));
  Sequence second = Of(2, 31, 4);
  second.arrived = Tokens(31);
  machine.Submit(second);
  while (machine.HasWork()) OneStep(machine);
  EXPECT_EQ(machine.Gauges().preemptions, 1);
  EXPECT_EQ(machine.Gauges().recomputed_tokens, 32);
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
  EXPECT_EQ(step.load.prefill, PrefillOf(Tokens(48), Tokens(100))) << "52 tokens attend to the 48 cached ones too";
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
  EXPECT_EQ(OneStep(machine).load.prefill.tokens, Tokens(16));
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
  EXPECT_EQ(OneStep(machine).load.prefill.tokens, Tokens(65 - 32));
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

}  // namespace
}  // namespace penstock::simulated
