#include "backends/simulated/machine/block_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock::simulated {
namespace {

TEST(BlockPool, EveryBlockCanBeTakenOnce) {
  BlockPool pool(Blocks(3));
  std::vector<BlockIndex> taken;
  while (pool.Free() > 0) taken.push_back(pool.Take());
  EXPECT_EQ(std::set<BlockIndex>(taken.begin(), taken.end()).size(), 3U);
  EXPECT_EQ(pool.Used(), 3);
  pool.Release(taken);
  EXPECT_EQ(pool.Free(), 3);
}

TEST(BlockPool, APoolOfAnySizeTakesMemoryForItsUsedBlocks) {
  BlockPool pool(Blocks(int64_t{1} << 36));
  const BlockIndex first = pool.Take();
  EXPECT_EQ(pool.Free(), (int64_t{1} << 36) - 1);
  pool.Release({first});
  EXPECT_EQ(pool.Take(), first) << "an empty block is reused before one that was never used";
  pool.Publish(first, 7);
  pool.Release({first});
  EXPECT_NE(pool.Take(), first) << "a cached block is reused behind those that were never used";
}

TEST(BlockPool, BlocksWithoutContentAreReusedBeforeCachedOnes) {
  BlockPool pool(Blocks(3));
  const std::vector<BlockIndex> taken = {pool.Take(), pool.Take(), pool.Take()};
  pool.Publish(taken[0], 100);
  pool.Release(taken);
  EXPECT_NE(pool.Take(), taken[0]);
  EXPECT_NE(pool.Take(), taken[0]);
  EXPECT_TRUE(pool.Find(100).has_value());
  EXPECT_EQ(pool.Take(), taken[0]);
  EXPECT_FALSE(pool.Find(100).has_value()) << "a taken block forgets its content";
}

TEST(BlockPool, TheLastBlockOfASequenceIsReusedBeforeItsHead) {
  BlockPool pool(Blocks(2));
  const std::vector<BlockIndex> taken = {pool.Take(), pool.Take()};
  pool.Publish(taken[0], 1);
  pool.Publish(taken[1], 2);
  pool.Release(taken);
  EXPECT_EQ(pool.Take(), taken[1]);
}

TEST(BlockPool, ACachedBlockIsSharedAndFreeOnlyAfterItsLastReference) {
  BlockPool pool(Blocks(2));
  const BlockIndex block = pool.Take();
  pool.Publish(block, 7);
  pool.Reuse(*pool.Find(7));
  pool.Release({block});
  EXPECT_FALSE(pool.IsFree(block));
  EXPECT_EQ(pool.Used(), 1);
  pool.Release({block});
  EXPECT_TRUE(pool.IsFree(block));
  pool.Reuse(block);
  EXPECT_EQ(pool.Used(), 1);
}

TEST(BlockPool, PrivateContentIsFoundOnlyByItsTagAndNeverReplacesSharedContent) {
  BlockPool pool(Blocks(2));
  const BlockIndex block = pool.Take();
  pool.Tag(block, 5);
  EXPECT_TRUE(pool.Holds(block, 5));
  EXPECT_FALSE(pool.Holds(block, 6));
  EXPECT_FALSE(pool.Find(5).has_value());
  const BlockIndex shared = pool.Take();
  pool.Publish(shared, 9);
  pool.Tag(shared, 5);
  EXPECT_FALSE(pool.Holds(shared, 5));
  EXPECT_EQ(pool.Find(9), shared);
}

TEST(BlockPool, AHashThatAnotherBlockHoldsIsNotPublishedAgain) {
  BlockPool pool(Blocks(2));
  const BlockIndex first = pool.Take();
  const BlockIndex second = pool.Take();
  pool.Publish(first, 3);
  pool.Publish(second, 3);
  EXPECT_EQ(pool.Find(3), first);
}

TEST(BlockPool, ElasticPoolsDrawFromOneMemory) {
  ElasticMemory memory{30, 0};
  BlockPool a(Blocks(10), &memory, 10);
  BlockPool b(Blocks(10), &memory, 10);
  const std::vector<BlockIndex> taken = {a.Take(), a.Take()};
  EXPECT_EQ(memory.used, 20);
  EXPECT_EQ(b.Free(), 1);
  a.Release(taken);
  EXPECT_EQ(memory.used, 0);
  EXPECT_EQ(b.Free(), 3);
}

TEST(BlockPool, ALimitBelowTheBlocksInUseTakesNoneOfThem) {
  ElasticMemory memory{100, 0};
  BlockPool pool(Blocks(10), &memory, 10);
  pool.SetLimit(45);
  EXPECT_EQ(pool.Free(), 4) << "whole blocks";
  const std::vector<BlockIndex> taken = {pool.Take(), pool.Take(), pool.Take()};
  pool.SetLimit(20);
  EXPECT_EQ(pool.Used(), 3);
  EXPECT_EQ(pool.Free(), 0);
  pool.Release({taken[0], taken[1]});
  EXPECT_EQ(pool.Free(), 1) << "once enough came back, new ones are taken up to the limit";
  pool.SetLimit(100);
  EXPECT_EQ(pool.Free(), 9);
}

}  // namespace
}  // namespace penstock::simulated
