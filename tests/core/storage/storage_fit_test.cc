#include "router/core/storage/storage_fit.h"

#include <gtest/gtest.h>

namespace penstock::testing {
namespace {

NodeResidual LeftOf(double storage, double io_cpu = 1) { return {1, 1, storage, io_cpu}; }

TEST(StorageFitTest, ARequestWithoutANeedIsTheSameEverywhere) {
  EXPECT_EQ(StorageFit().FullerBy(LeftOf(0), 0, true), 1);
  EXPECT_EQ((StorageFit{StorageNeed::kNone, true}.FullerBy(LeftOf(0), 9, false)), 1);
}

TEST(StorageFitTest, TheNodeWithMostLeftIsPreferredWhereNobodyNeedsMore) {
  const StorageFit fit{StorageNeed::kSome, false};
  EXPECT_EQ(fit.FullerBy(LeftOf(1), 0, true), 1);
  EXPECT_EQ(fit.FullerBy(LeftOf(0.5), 0, true), 2);
  EXPECT_EQ(fit.FullerBy(LeftOf(1, 0.25), 0, true), 4) << "the scarcer of storage and I/O CPU";
  EXPECT_DOUBLE_EQ(fit.FullerBy(LeftOf(0.5), 0.4, true), 6) << "two others of its size share what is left";
}

TEST(StorageFitTest, TheTightestFitIsPreferredWhileLargerNeedsAreAbout) {
  const StorageFit fit{StorageNeed::kSome, true};
  EXPECT_LT(fit.FullerBy(LeftOf(0.5), 0, true), fit.FullerBy(LeftOf(1), 0, true));
  EXPECT_GT(fit.FullerBy(LeftOf(0.39), 0, true), fit.FullerBy(LeftOf(1), 0, true))
      << "less than its need and the reserve";
  EXPECT_GT(fit.FullerBy(LeftOf(0.5, 0.29), 0, true), fit.FullerBy(LeftOf(1), 0, true)) << "I/O CPU is short";
  EXPECT_GT(fit.FullerBy(LeftOf(0.5), 0.2, true), fit.FullerBy(LeftOf(1), 0, true)) << "another request has its room";
  EXPECT_GT(fit.FullerBy(LeftOf(0.5), 0, false), fit.FullerBy(LeftOf(1), 0, true)) << "a derated node is no fit";
}

TEST(StorageFitTest, ANodeNeverCountsAsEmptier) {
  for (const double left : {-3.0, 0.0, 0.5, 1.0}) {
    for (const double under_way : {0.0, 0.5, 3.0}) {
      for (const bool larger : {false, true}) {
        EXPECT_GE((StorageFit{StorageNeed::kSome, larger}.FullerBy(LeftOf(left), under_way, true)), 1);
      }
    }
  }
}

}  // namespace
}  // namespace penstock::testing
