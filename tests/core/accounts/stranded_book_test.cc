#include "router/core/accounts/stranded_book.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

class StrandedBookTest : public ::testing::Test {
 protected:
  StrandedBookTest() { book_.Configure({Pool("a"), Pool("b")}, At(0)); }
  static Instant At(double seconds) { return Instant::FromSeconds(seconds); }
  static PoolSpec Pool(const char* name) {
    PoolSpec pool;
    pool.name = name;
    pool.capacity = Amount(100);
    return pool;
  }
  static MemoryWaits Unused(uint32_t pool, int64_t amount) { return {{ModelId(0)}, {{PoolId(pool), Amount(amount)}}}; }

  StrandedBook book_{At(100)};
};

TEST_F(StrandedBookTest, MemoryIsStrandedOnlyWhileSomebodyWaitsForIt) {
  book_.Sample(Unused(0, 30), At(1));
  book_.Sample(Unused(0, 10), At(3));
  book_.Sample({}, At(7));
  book_.Settle(At(9));
  EXPECT_DOUBLE_EQ(book_.pools()[0].amount_seconds, 100);
  EXPECT_DOUBLE_EQ(book_.pools()[0].seconds, 6);
  EXPECT_DOUBLE_EQ(book_.pools()[0].now, 0);
  EXPECT_DOUBLE_EQ(book_.pools()[1].seconds, 0) << "nobody waited for it";
}

TEST_F(StrandedBookTest, AFullPoolIsWaitedForAndStrandsNothing) {
  book_.Sample(Unused(1, 0), At(0));
  book_.Settle(At(4));
  EXPECT_DOUBLE_EQ(book_.pools()[1].seconds, 4);
  EXPECT_DOUBLE_EQ(book_.pools()[1].amount_seconds, 0);
}

TEST_F(StrandedBookTest, TimeAfterTheEndDoesNotCountAndTimeThatGoesBackIsIgnored) {
  book_.Sample(Unused(0, 1), At(99));
  book_.Settle(At(500));
  book_.Settle(At(98));
  EXPECT_DOUBLE_EQ(book_.pools()[0].seconds, 1);
}

TEST_F(StrandedBookTest, APlaceThatAnotherPoolTakesBeginsAnew) {
  book_.Sample(Unused(0, 5), At(0));
  book_.Configure({Pool("c"), Pool("b"), Pool("d")}, At(10));
  EXPECT_DOUBLE_EQ(book_.pools()[0].seconds, 0);
  EXPECT_EQ(book_.pools()[0].name, "c");
  EXPECT_EQ(book_.pools().size(), 3u);
  book_.Sample(Unused(9, 5), At(11));  // A pool that the book does not know.
}

}  // namespace
}  // namespace penstock
