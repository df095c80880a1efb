#include "router/core/queue/late_share.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Instant At(double seconds) { return Instant::FromSeconds(seconds); }

TEST(LateShare, IsTheShareOfRefusedRequests) {
  LateShare late;
  EXPECT_EQ(late.At(At(0)), 0);
  for (int i = 0; i < 2000; ++i) {
    i % 4 == 0 ? late.Refused(At(100 + i * 0.01)) : late.Served(At(100 + i * 0.01));
  }
  EXPECT_NEAR(late.At(At(120)), 0.25, 0.01);
}

TEST(LateShare, OneRefusalAfterAQuietMinuteIsNoCrowd) {
  LateShare late;
  late.Refused(At(100));
  EXPECT_LT(late.At(At(100)), 0.1);
  EXPECT_LT(late.At(At(160)), 0.02);
}

TEST(LateShare, AFewRefusalsAreNoCrowdWhateverTheirShare) {
  LateShare late;
  late.Refused(At(100));
  late.Refused(At(100));
  EXPECT_FALSE(late.IsCrowd(0.02, Duration::Seconds(10), At(100)));
  late.Refused(At(100));
  EXPECT_TRUE(late.IsCrowd(0.02, Duration::Seconds(10), At(100)));
  EXPECT_FALSE(late.IsCrowd(0.02, Duration::Seconds(10), At(111))) << "nobody waits any more";
  for (int i = 0; i < 1000; ++i) late.Served(At(100));
  EXPECT_FALSE(late.IsCrowd(0.02, Duration::Seconds(10), At(100)));
}

TEST(LateShare, FadesWhileNothingHappens) {
  LateShare late;
  for (int i = 0; i < 100; ++i) late.Refused(At(100));
  EXPECT_GT(late.At(At(100)), 0.9);
  EXPECT_LT(late.At(At(400)), 0.001);
}

}  // namespace
}  // namespace penstock
