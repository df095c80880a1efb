#include "router/kv_events/engine_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "router/kv_events/prompt_binding.h"

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

TEST(EngineBlocksTest, ABlockThatIsItsOwnParentHasNoPath) {
  EngineBlocks blocks;
  blocks.Store(1, std::nullopt);
  for (int i = 0; i < 1000; ++i) blocks.Store(1, 1);
  EXPECT_THAT(blocks.PathTo(1), IsEmpty());
}

// 1 to 4 in a row, then each the child of the one behind it.
TEST(EngineBlocksTest, ACircleEndsABinding) {
  EngineBlocks blocks;
  Anchors anchors;
  EngineRun run;
  run.prefix = {7};
  run.prompt = Tokens(64);
  for (uint64_t block = 1; block <= 4; ++block) {
    blocks.Store(block, block == 1 ? std::nullopt : std::optional<uint64_t>(block - 1));
  }
  EXPECT_EQ(BindPrompt(run, 4, 16, blocks, anchors).size(), 1u);
  blocks.Store(2, 3);
  for (uint64_t block = 1; block < 4; ++block) blocks.Store(block, block + 1);
  for (uint64_t block = 11; block <= 14; ++block) {
    blocks.Store(block, block == 11 ? std::nullopt : std::optional<uint64_t>(block - 1));
  }
  const std::vector<BoundBlock> bound = BindPrompt(run, 14, 16, blocks, anchors);
  EXPECT_EQ(bound.size(), 1u) << "it ends, and the binding is dropped";
  EXPECT_FALSE(anchors.Of(7).has_value());
}

}  // namespace
}  // namespace penstock
