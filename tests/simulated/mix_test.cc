#include "backends/simulated/machine/mix.h"

#include <bitset>

#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

TEST(Mix, IsTheFinaliserOfSplitmix64) {
  // The first outputs of splitmix64 with seed 0.
  EXPECT_EQ(Mix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(Mix(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

TEST(Mix, OneChangedBitChangesAboutHalfOfTheOutput) {
  double changed = 0;
  for (int bit = 0; bit < 64; ++bit) {
    changed += static_cast<double>(std::bitset<64>(Mix(12345) ^ Mix(12345 ^ (uint64_t{1} << bit))).count());
  }
  EXPECT_NEAR(changed / 64, 32, 3);
}

TEST(Mix, TheOrderOfTwoValuesMatters) { EXPECT_NE(Mix(1, 2), Mix(2, 1)); }

TEST(ByteHash, DependsOnTheBytesAndNotOnThePieces) {
  ByteHash whole, pieces, other;
  whole.Add("conversation");
  pieces.Add("conver");
  pieces.Add("");
  for (const char c : {'s', 'a', 't', 'i', 'o', 'n'}) pieces.Add(c);
  other.Add("conversatiom");
  EXPECT_EQ(whole.Value(), pieces.Value());
  EXPECT_NE(whole.Value(), other.Value());
}

TEST(Uniform, CoversTheUnitIntervalWithoutOne) {
  EXPECT_EQ(Uniform(0), 0);
  EXPECT_LT(Uniform(~uint64_t{0}), 1);
  double sum = 0;
  for (uint64_t i = 0; i < 10'000; ++i) sum += Uniform(Mix(i));
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace
}  // namespace penstock::simulated
