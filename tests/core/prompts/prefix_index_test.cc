#include "router/core/prompts/prefix_index.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(PrefixIndex, ForgetsTheBlocksThatWereLeftFirst) {
  PrefixIndex index;
  index.SetCapacity(2);
  for (const uint64_t block : {1, 2, 3}) index.Put(block, false);
  EXPECT_FALSE(index.Contains(1));
  EXPECT_TRUE(index.Contains(2));
  EXPECT_TRUE(index.Contains(3));
}

TEST(PrefixIndex, ABlockThatIsLeftAgainIsTheNewest) {
  PrefixIndex index;
  index.SetCapacity(2);
  for (const uint64_t block : {1, 2, 1, 3}) index.Put(block, false);
  EXPECT_TRUE(index.Contains(1));
  EXPECT_FALSE(index.Contains(2));
}

TEST(PrefixIndex, ABlockThatARunningRequestTakesLeaves) {
  PrefixIndex index;
  index.SetCapacity(2);
  index.Put(1, false);
  index.Take(1);
  index.Take(7);
  EXPECT_EQ(index.size(), 0);
}

TEST(PrefixIndex, LessRoomForgetsTheOldest) {
  PrefixIndex index;
  index.SetCapacity(3);
  for (const uint64_t block : {1, 2, 3}) index.Put(block, false);
  index.SetCapacity(1);
  EXPECT_TRUE(index.Contains(3));
  EXPECT_EQ(index.size(), 1);
  index.Clear();
  EXPECT_EQ(index.size(), 0);
}

TEST(PrefixIndex, NamesTheLandmarksThatItForgot) {
  PrefixIndex index;
  index.SetCapacity(3);
  index.Put(1, true);
  index.Put(2, false);
  index.Put(3, true);
  EXPECT_TRUE(index.lost().empty());
  index.SetCapacity(1);
  EXPECT_EQ(index.lost(), std::vector<uint64_t>{1});
  index.ForgetLost();
  index.Clear();
  EXPECT_EQ(index.lost(), std::vector<uint64_t>{3});
}

TEST(PrefixIndex, KeepsNothingWithoutCapacity) {
  PrefixIndex index;
  index.Put(1, false);
  EXPECT_FALSE(index.Contains(1));
}

}  // namespace
}  // namespace penstock
