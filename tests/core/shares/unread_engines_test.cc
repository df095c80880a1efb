// Limits beside an engine in elastic memory of which nothing is read: it is new, sleeps, or is gone.
#include <gtest/gtest.h>

#include "tests/core/shares/elastic_engines.h"

namespace penstock::testing {
namespace {

Fleet SleepingElasticFleet() {
  Fleet fleet = ElasticFleet(2, true);
  fleet.replicas[1].sleep = SleepSpec{Duration::Seconds(600), Duration::Seconds(1)};
  return fleet;
}

// Engines of which the second one was never read.
class HalfRead : public Engines {
 public:
  explicit HalfRead(int64_t limit) : Engines(2, true) {
    limits[0] = limit;
    silent = 1;
  }
  int64_t LimitAfterDemand() {
    Ask(0, 60, 1'000);
    RunFor(Duration::Seconds(20));
    return limits[0];
  }
  // The second engine, which was read before, sleeps by a command: its file is gone.
  void FallsAsleep() {
    silent = -1;
    Report();
    Send(FleetChanged{SleepingElasticFleet()});
    Send(ReplicaResidency{ReplicaId(1), Residency::kAsleep, false, Duration::Seconds(1)});
    silent = 1;
    limits[1] = 0;
    stubborn[1] = true;
    RunFor(Duration::Seconds(3));
  }
};

TEST(ElasticManage, AnEngineThatWasNeverReadHasAnEqualShare) {
  HalfRead engines(12'000 * kMB);
  EXPECT_EQ(engines.LimitAfterDemand(), 12'000 * kMB) << "its neighbour is not cut";
  EXPECT_TRUE(engines.all.empty());
}

TEST(ElasticManage, AnEngineKeepsNoMoreThanItsPartBesideOneThatWasNeverRead) {
  HalfRead engines(12'000 * kMB);
  engines.limits = {20'000 * kMB, 0};
  engines.RunFor(Duration::Seconds(10));
  EXPECT_LE(engines.limits[0], 12'000 * kMB);
  EXPECT_GT(engines.limits[0], 11'900 * kMB);
}

TEST(ElasticManage, AnEngineThatIsGoneLendsItsMemory) {
  HalfRead engines(12'000 * kMB);
  engines.limits[1] = 0;  // It has no file.
  engines.Send(ReplicaHealth{ReplicaId(1), Health::kDown});
  EXPECT_GT(engines.LimitAfterDemand(), 23'900 * kMB);
}

TEST(ElasticManage, AnEngineThatSleepsLendsItsMemoryAndGetsItBackToWake) {
  HalfRead engines(12'000 * kMB);
  engines.FallsAsleep();
  EXPECT_GT(engines.LimitAfterDemand(), 23'900 * kMB);
  for (uint64_t id = 1; id <= engines.asked; ++id) engines.Finish(id, 1);
  engines.Ask(1, 1, 1'000);
  engines.RunFor(Duration::Seconds(10));
  EXPECT_LE(engines.limits[0], 12'000 * kMB) << "the other one makes room while it wakes";
  EXPECT_EQ(engines.Elastic(0).orders_failed, 0);
}

TEST(ElasticManage, TheUseOfAnEngineThatSleepsIsNotCounted) {
  HalfRead engines(12'000 * kMB);
  engines.extra[1] = 9'000 * kMB;
  engines.FallsAsleep();
  engines.LimitAfterDemand();
  EXPECT_GT(engines.Running(0), 20);
}

}  // namespace
}  // namespace penstock::testing
