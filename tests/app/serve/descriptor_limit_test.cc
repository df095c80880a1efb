#include "app/serve/descriptor_limit.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Config WithConnections(int connections) {
  Config config;
  config.limits.max_connections = connections;
  config.replicas.emplace_back().url = "http://10.0.0.1:8000";
  return config;
}

TEST(DescriptorLimit, ALimitThatFitsStaysWithoutAWord) {
  Config config = WithConnections(1'000);
  EXPECT_EQ(FitToDescriptors(1 << 20, config), "");
  EXPECT_EQ(config.limits.max_connections, 1'000);
}

TEST(DescriptorLimit, EveryClientMayHaveAnEngineConnection) {
  Config config = WithConnections(65'536);
  EXPECT_EQ(FitToDescriptors(4'096, config),
            "limits.max_connections is 65536, but 4096 descriptors (ulimit -n) allow 1950: 1950 holds");
  EXPECT_EQ(config.limits.max_connections, 1'950);
}

TEST(DescriptorLimit, AnEngineInsideTheProcessHasTheOtherEnd) {
  Config config = WithConnections(65'536);
  config.replicas.front().url.clear();
  config.replicas.front().simulated.emplace();
  FitToDescriptors(4'096, config);
  EXPECT_EQ(config.limits.max_connections, 1'300);
}

TEST(DescriptorLimit, ATinyLimitLeavesOneConnection) {
  Config config = WithConnections(10);
  EXPECT_NE(FitToDescriptors(12, config), "");
  EXPECT_EQ(config.limits.max_connections, 1);
}

TEST(DescriptorLimit, ASmallLimitHasRoomForSpareConnectionsAndItsOwnFiles) {
  Config config = WithConnections(65'536);
  FitToDescriptors(64, config);
  EXPECT_EQ(config.limits.max_connections, 15);
  EXPECT_EQ(SpareConnections(64), 8);
  EXPECT_EQ(SpareConnections(4'096), 64);
  EXPECT_EQ(SpareConnections(4), 1);
}

TEST(DescriptorLimit, TheSoftLimitIsRaised) { EXPECT_GT(RaiseDescriptorLimit(), 0); }

}  // namespace
}  // namespace penstock
