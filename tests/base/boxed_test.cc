#include "base/boxed.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace penstock {
namespace {

TEST(BoxedTest, AnEmptyOneHasTheSizeOfAPointer) { EXPECT_EQ(sizeof(Boxed<std::string>), sizeof(void*)); }

TEST(BoxedTest, ACopyIsAValueOfItsOwn) {
  Boxed<std::string> first;
  first = std::string("text");
  Boxed<std::string> second = first;
  *second += "s";
  EXPECT_EQ(*first, "text");
  EXPECT_EQ(second->size(), 5U);
  first = second;
  EXPECT_EQ(first, second);
}

TEST(BoxedTest, EmptyOnesAreEqualToEachOtherOnly) {
  Boxed<int> empty;
  Boxed<int> zero;
  zero = 0;
  EXPECT_EQ(empty, Boxed<int>());
  EXPECT_NE(empty, zero);
  const Boxed<int> moved = std::move(zero);
  EXPECT_TRUE(moved);
  empty = moved;
  empty.reset();
  EXPECT_FALSE(empty);
}

}  // namespace
}  // namespace penstock
