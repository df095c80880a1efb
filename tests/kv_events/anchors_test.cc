#include "router/kv_events/anchors.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Anchors, APromptBlockHasOneAndAnEngineBlockMayHaveSeveral) {
  Anchors anchors;
  EXPECT_EQ(anchors.Bind({1, 0}, 70), std::nullopt);
  EXPECT_EQ(anchors.Bind({2, 0}, 70), std::nullopt);
  EXPECT_EQ(anchors.At(70).size(), 2u);
  EXPECT_EQ(anchors.Bind({1, 0}, 71), std::nullopt);
  EXPECT_EQ(anchors.At(70).size(), 1u);
  EXPECT_EQ(anchors.Of(1), 71u);
  anchors.Forget(71);
  EXPECT_EQ(anchors.Of(1), std::nullopt);
  EXPECT_EQ(anchors.size(), 1u);
}

// A client may write one prompt in ever new ways.
TEST(Anchors, TheOldestOfTooManyBlocksGoes) {
  Anchors anchors;
  for (uint64_t block = 0; block < 1000; ++block) {
    const std::optional<PromptBlock> gone = anchors.Bind({block, 3}, 70);
    EXPECT_EQ(gone.has_value(), block >= Anchors::kMostOfOne);
    if (gone) EXPECT_EQ(*gone, (PromptBlock{block - Anchors::kMostOfOne, 3}));
  }
  EXPECT_EQ(anchors.size(), Anchors::kMostOfOne);
  EXPECT_EQ(anchors.Of(0), std::nullopt);
  EXPECT_EQ(anchors.Of(999), 70u);
}

}  // namespace
}  // namespace penstock
