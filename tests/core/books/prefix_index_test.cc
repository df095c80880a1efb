#include "router/core/books/prefix_index.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(PrefixIndex, MatchesTheLeadingBlocksOfWhatWasDispatched) {
  PrefixIndex index;
  index.SetCapacity(10);
  EXPECT_EQ(index.Match({1, 2, 3}), 0);
  index.Touch({1, 2, 3});
  EXPECT_EQ(index.Match({1, 2, 3, 4}), 3);
  EXPECT_EQ(index.Match({1, 9}), 1);
  EXPECT_EQ(index.Match({}), 0);
}

TEST(PrefixIndex, ForgetsTheOldestPromptsTailFirst) {
  PrefixIndex index;
  index.SetCapacity(4);
  index.Touch({1, 2, 3});
  index.Touch({7, 8});
  EXPECT_EQ(index.Match({1, 2, 3}), 2);
  EXPECT_EQ(index.Match({7, 8}), 2);
  index.Touch({11, 12, 13, 14, 15, 16});
  EXPECT_EQ(index.Match({11, 12, 13, 14, 15, 16}), 4);
  EXPECT_EQ(index.Match({1}), 0);
  index.Clear();
  EXPECT_EQ(index.Match({11}), 0);
}

TEST(PrefixIndex, KeepsNothingWithoutCapacity) {
  PrefixIndex index;
  index.Touch({1});
  EXPECT_EQ(index.Match({1}), 0);
}

}  // namespace
}  // namespace penstock
