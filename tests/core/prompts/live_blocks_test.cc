#include "router/core/prompts/live_blocks.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const RequestId kBlockFirst(7), kBlockSecond(11), kBlockThird(13);

TEST(LiveBlocks, TheOnlyUserOfABlockIsNamedWhenAnotherJoinsIt) {
  LiveBlocks blocks;
  EXPECT_EQ(blocks.Add(1, kBlockFirst), std::nullopt);
  EXPECT_EQ(blocks.Add(1, kBlockSecond), kBlockFirst);
  EXPECT_EQ(blocks.Add(1, kBlockThird), std::nullopt);
  EXPECT_EQ(blocks.blocks(), 1);
  EXPECT_EQ(blocks.shared_blocks(), 1);
  EXPECT_EQ(blocks.uses(), 3);
}

TEST(LiveBlocks, TheUserThatIsLeftAloneIsNamed) {
  LiveBlocks blocks;
  for (const RequestId user : {kBlockFirst, kBlockSecond, kBlockThird}) blocks.Add(1, user);
  EXPECT_EQ(blocks.Remove(1, kBlockFirst), std::nullopt);
  EXPECT_EQ(blocks.Remove(1, kBlockThird), kBlockSecond);
  EXPECT_EQ(blocks.shared_blocks(), 0);
  EXPECT_TRUE(blocks.Contains(1));
  EXPECT_EQ(blocks.Remove(1, kBlockSecond), std::nullopt);
  EXPECT_FALSE(blocks.Contains(1));
  EXPECT_EQ(blocks, LiveBlocks());
}

TEST(LiveBlocks, ABlockWithoutUsersHasNoneToRemove) {
  LiveBlocks blocks;
  EXPECT_EQ(blocks.Remove(1, kBlockFirst), std::nullopt);
  EXPECT_EQ(blocks.uses(), 0);
}

TEST(LiveBlocks, TheLeadingBlocksOfAPromptAreCountedByTheirUsers) {
  LiveBlocks blocks;
  for (const uint64_t block : {1, 2, 3}) blocks.Add(block, kBlockFirst);
  for (const uint64_t block : {1, 2, 9}) blocks.Add(block, kBlockSecond);
  EXPECT_EQ(blocks.Held({1, 2, 3, 4}), 3);
  EXPECT_EQ(blocks.Shared({1, 2, 3, 4}), 2);
  EXPECT_EQ(blocks.Held({5}), 0);
  EXPECT_EQ(blocks.Held({}), 0);
}

}  // namespace
}  // namespace penstock
