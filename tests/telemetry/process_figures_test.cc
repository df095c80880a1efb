#include "router/telemetry/process/process_figures.h"

#include <gtest/gtest.h>

#include <fstream>

namespace penstock {
namespace {

TEST(ProcessStat, IsReadBehindAnyName) {
  const auto figures = ParseStat(
      "7 (a ) name) S 1 1 1 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 12345 1000000 250 18446744073709551615 1 1 0");
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->cpu_ticks, 200);
  EXPECT_EQ(figures->threads, 9);
  EXPECT_EQ(figures->start_ticks, 12345);
  EXPECT_EQ(figures->virtual_bytes, 1000000);
  EXPECT_EQ(figures->resident_pages, 250);
}

TEST(ProcessStat, OfAnotherFormIsNone) {
  for (const char* bad : {"", "7", "7 (a) S 1 2", "7 (a) S x x x x x x x x x x x x x x x x x x x x x x x"}) {
    EXPECT_FALSE(ParseStat(bad)) << bad;
  }
}

TEST(ProcessFigures, AreThoseOfThisProcess) {
  const auto before = ReadProcessFigures();
  if (!before) GTEST_SKIP() << "no /proc";
  EXPECT_GT(before->resident_bytes, 100'000);
  EXPECT_GT(before->virtual_bytes, before->resident_bytes);
  EXPECT_GE(before->threads, 1);
  EXPECT_GE(before->most_descriptors, before->open_descriptors);
  // After 2020 and before 2100.
  EXPECT_GT(before->started_at, 1.577e9);
  EXPECT_LT(before->started_at, 4.1e9);
  const std::ifstream one("/proc/self/stat");
  const std::ifstream two("/proc/self/stat");
  EXPECT_EQ(ReadProcessFigures()->open_descriptors, before->open_descriptors + 2);
}

}  // namespace
}  // namespace penstock
