#include "router/core/learning/host_time.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace penstock {
namespace {

TEST(HostTime, AFewResidualsSayNothing) {
  HostTime host;
  for (size_t i = 1; i < HostTime::kFewest; ++i) host.Observe(0.04);
  EXPECT_EQ(host.seconds(), 0);
  host.Observe(0.04);
  EXPECT_EQ(host.seconds(), 0.04);
}

TEST(HostTime, PausesOfABusyMachineDoNotCount) {
  HostTime host;
  for (int i = 0; i < 40; ++i) host.Observe(i % 2 == 0 ? 0.03 : 0.3);
  EXPECT_EQ(host.seconds(), 0.03);
}

TEST(HostTime, AChangeIsFollowedWithinAWindow) {
  HostTime host;
  for (size_t i = 0; i < 100; ++i) host.Observe(0.2);
  for (size_t i = 0; i < HostTime::kWindow; ++i) host.Observe(0.01);
  EXPECT_EQ(host.seconds(), 0.01);
}

TEST(HostTime, ItIsNeverNegativeAndNeverMoreThanItsBound) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::mt19937 random(31);
  std::normal_distribution<double> residual(0, 1);
  HostTime host;
  for (int i = 0; i < 10'000; ++i) {
    const double odd[] = {kInfinite, -kInfinite, std::numeric_limits<double>::quiet_NaN()};
    host.Observe(i % 10 == 0 ? odd[i / 10 % 3] : residual(random));
    ASSERT_GE(host.seconds(), 0) << "seed 31, step " << i;
    ASSERT_LE(host.seconds(), HostTime::kMost) << "seed 31, step " << i;
  }
  for (size_t i = 0; i < HostTime::kWindow; ++i) host.Observe(kInfinite);
  EXPECT_EQ(host.seconds(), HostTime::kMost);
  for (size_t i = 0; i < HostTime::kWindow; ++i) host.Observe(-1);
  EXPECT_EQ(host.seconds(), 0);
}

}  // namespace
}  // namespace penstock
