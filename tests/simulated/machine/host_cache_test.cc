#include "backends/simulated/machine/host_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulated/step_machine_steps.h"

namespace penstock::simulated {
namespace {

TEST(HostCache, TheBlockThatWasUsedLongestAgoGoes) {
  CacheJournal journal;
  HostCache cache(3, &journal);
  for (const uint64_t block : {1, 2, 3}) cache.Store(block);
  EXPECT_EQ(cache.Use({1, 9}, 0, 9), 1);
  cache.Store(4);
  EXPECT_EQ(cache.size(), 3);
  EXPECT_TRUE(cache.Contains(1));
  EXPECT_FALSE(cache.Contains(2));
  EXPECT_EQ(journal.back(), (CacheChange{CacheChange::Kind::kRemoved, 2, std::nullopt, "", true}));
}

TEST(HostCache, TheTailOfAPromptGoesBeforeItsHead) {
  HostCache cache(3, nullptr);
  for (const uint64_t block : {1, 2, 3}) cache.Store(block);
  EXPECT_EQ(cache.Use({1, 2, 3}, 0, 3), 3);
  cache.Store(4);
  EXPECT_EQ(cache.Use({1, 2, 3}, 0, 3), 2);
}

TEST(HostCache, OnlyBlocksInARowCountFromWhereTheGpuEnds) {
  HostCache cache(8, nullptr);
  for (const uint64_t block : {2, 3, 5}) cache.Store(block);
  EXPECT_EQ(cache.Use({1, 2, 3, 4, 5}, 0, 5), 0);
  EXPECT_EQ(cache.Use({1, 2, 3, 4, 5}, 1, 5), 2);
  EXPECT_EQ(cache.Use({1, 2, 3, 4, 5}, 1, 2), 1) << "the last token is always computed";
  EXPECT_EQ(cache.Use({1, 2}, 7, 9), 0) << "the GPU has blocks of the answer too";
}

TEST(HostCache, WithoutRoomNothingIsKept) {
  HostCache cache(0, nullptr);
  cache.Store(1);
  EXPECT_EQ(cache.size(), 0);
}

Sequence Prompt(SequenceId id, const std::vector<uint64_t>& blocks) {
  Sequence sequence = Of(id, 63, 1);
  sequence.prefix_blocks = blocks;
  return sequence;
}

TEST(StepMachine, BlocksThatTheGpuLostAreLoadedFromTheHost) {
  EngineLimits limits = Pool(64);
  limits.host_tokens = Tokens(1000);
  limits.host_seconds = 1e-3;
  StepMachine machine(limits);
  machine.Submit(Prompt(1, {11, 12, 13}));
  EXPECT_EQ(OneStep(machine).load.prefill.load, Duration());
  machine.Submit(Prompt(2, {21, 22, 23}));
  OneStep(machine);
  machine.Submit(Prompt(3, {11, 12, 13}));
  const auto again = OneStep(machine);
  EXPECT_EQ(again.load.prefill.tokens, Tokens(63 - 48));
  EXPECT_EQ(again.load.prefill.load, Duration::Milliseconds(48));
  ASSERT_THAT(again.outcome.ended, ::testing::SizeIs(1));
  EXPECT_EQ(again.outcome.ended[0].cached_prompt, Tokens(48));
  EXPECT_EQ(machine.Gauges().prefix_hits, 0);
  EXPECT_EQ(machine.Gauges().host_hits, 48);
  EXPECT_EQ(machine.Gauges().host_queries, 3 * 63);
  // Loaded blocks are blocks of the GPU.
  machine.Submit(Prompt(4, {11, 12, 13}));
  EXPECT_EQ(OneStep(machine).load.prefill.load, Duration());
  EXPECT_EQ(machine.Gauges().prefix_hits, 48);
}

TEST(StepMachine, WithoutAPrefixCacheTheHostKeepsNothing) {
  EngineLimits limits = Pool(64);
  limits.host_tokens = Tokens(1000);
  limits.prefix_cache = false;
  StepMachine machine(limits);
  for (const SequenceId id : {1, 2}) {
    machine.Submit(Prompt(id, {11, 12, 13}));
    EXPECT_EQ(OneStep(machine).load.prefill.tokens, Tokens(63));
  }
  EXPECT_EQ(machine.Gauges().host_queries, 0);
}

}  // namespace
}  // namespace penstock::simulated
