#include "router/openai/request/prefix_hashes.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

constexpr size_t kBlock = 2048;

TEST(PrefixHashes, NameWholeBlocksOnly) {
  EXPECT_TRUE(PrefixHashes("", ModelId()).empty());
  EXPECT_TRUE(PrefixHashes(std::string(kBlock - 1, 'a'), ModelId()).empty());
  EXPECT_EQ(PrefixHashes(std::string(kBlock, 'a'), ModelId()).size(), 1u);
  EXPECT_EQ(PrefixHashes(std::string(3 * kBlock + 7, 'a'), ModelId()).size(), 3u);
}

TEST(PrefixHashes, AreEqualUpToTheFirstBlockThatDiffers) {
  std::string one(4 * kBlock, 'a');
  std::string other = one;
  other[2 * kBlock + 5] = 'b';
  const auto a = PrefixHashes(one, ModelId(1));
  const auto b = PrefixHashes(other, ModelId(1));
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(a[1], b[1]);
  EXPECT_NE(a[2], b[2]);
  EXPECT_NE(a[3], b[3]) << "equal text behind a difference is another prefix";
  EXPECT_NE(a[0], a[1]) << "equal blocks at other places are other prefixes";
}

TEST(PrefixHashes, DifferBetweenModels) {
  const std::string text(kBlock, 'a');
  EXPECT_NE(PrefixHashes(text, ModelId(1)), PrefixHashes(text, ModelId(2)));
}

TEST(PrefixHashes, AreBoundedForHugePrompts) {
  EXPECT_EQ(PrefixHashes(std::string((kMostPrefixBlocks + 5) * kBlock, 'a'), ModelId()).size(), kMostPrefixBlocks);
}

}  // namespace
}  // namespace penstock
