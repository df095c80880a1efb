#include "router/kv_events/engine_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EngineBlocksTest, ABlockKnowsItsPlaceAndThoseBeforeIt) {
  EngineBlocks blocks;
  EXPECT_TRUE(blocks.Store(1, std::nullopt));
  EXPECT_TRUE(blocks.Store(2, 1));
  EXPECT_TRUE(blocks.Store(3, 2));
  EXPECT_EQ(blocks.PositionOf(3), 2);
  EXPECT_THAT(blocks.PathTo(3), ElementsAre(1, 2, 3));
}

TEST(EngineBlocksTest, ABlockIsStoredUntilItsLastCopyGoes) {
  EngineBlocks blocks;
  blocks.Store(1, std::nullopt);
  EXPECT_FALSE(blocks.Store(1, std::nullopt));
  EXPECT_FALSE(blocks.Remove(1));
  EXPECT_TRUE(blocks.IsStored(1));
  EXPECT_TRUE(blocks.Remove(1));
  EXPECT_FALSE(blocks.IsStored(1));
  EXPECT_EQ(blocks.stored(), 0);
}

TEST(EngineBlocksTest, ARemovedBlockIsKnownWhenItComesBack) {
  EngineBlocks blocks;
  blocks.Store(1, std::nullopt);
  blocks.Store(2, 1);
  blocks.Remove(2);
  EXPECT_EQ(blocks.PositionOf(2), 1);
  EXPECT_TRUE(blocks.Store(2, 1));
}

TEST(EngineBlocksTest, WithoutItsBeginAPathIsUnknown) {
  EngineBlocks blocks;
  blocks.Store(5, 4);
  EXPECT_EQ(blocks.PositionOf(5), std::nullopt);
  EXPECT_THAT(blocks.PathTo(5), IsEmpty());
  EXPECT_THAT(blocks.PathTo(77), IsEmpty());
}

TEST(EngineBlocksTest, ACircleOfALyingPublisherHasNoPath) {
  EngineBlocks blocks;
  blocks.Store(1, std::nullopt);
  blocks.Store(2, 1);
  blocks.Store(1, 2);
  EXPECT_THAT(blocks.PathTo(2), IsEmpty());
  EXPECT_THAT(blocks.PathTo(1), IsEmpty());
}

TEST(EngineBlocksTest, RemovedBlocksAreBounded) {
  EngineBlocks blocks;
  for (uint64_t i = 0; i < EngineBlocks::kMostRemoved + 2; ++i) blocks.Store(i, std::nullopt);
  for (uint64_t i = 0; i < EngineBlocks::kMostRemoved + 2; ++i) blocks.Remove(i);
  EXPECT_THAT(blocks.TakeForgotten(), ElementsAre(0, 1));
  EXPECT_EQ(blocks.PositionOf(0), std::nullopt);
  EXPECT_EQ(blocks.PositionOf(2), 0);
}

TEST(EngineBlocksTest, ABlockThatCameBackIsNotForgotten) {
  EngineBlocks blocks;
  blocks.Store(7, std::nullopt);
  blocks.Remove(7);
  blocks.Store(7, std::nullopt);
  for (uint64_t i = 100; i < 100 + EngineBlocks::kMostRemoved; ++i) {
    blocks.Store(i, std::nullopt);
    blocks.Remove(i);
  }
  EXPECT_TRUE(blocks.IsStored(7));
  EXPECT_THAT(blocks.TakeForgotten(), IsEmpty());
}

TEST(EngineBlocksTest, AfterALossBlocksAreKnownAndNotStored) {
  EngineBlocks blocks;
  blocks.Store(1, std::nullopt);
  blocks.ForgetStored();
  EXPECT_FALSE(blocks.IsStored(1));
  EXPECT_EQ(blocks.PositionOf(1), 0);
  // The engine may still say that it goes.
  EXPECT_TRUE(blocks.Remove(1));
}

}  // namespace
}  // namespace penstock
