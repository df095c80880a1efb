#include "app/shadow/learned_pace.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Fleet OneReplica() {
  Fleet fleet;
  fleet.replicas.resize(1);
  return fleet;
}

CoreView ViewOf(double factor, int64_t running, int neighbours = 0) {
  CoreView view;
  view.replicas.resize(1);
  view.replicas[0].step_factor = factor;
  view.replicas[0].running = running;
  view.replicas[0].busy_neighbours = neighbours;
  return view;
}

void SampleFor(LearnedPace& pace, double from, double to, const CoreView& view) {
  for (double at = from; at < to; at += 1) pace.Sample(Instant::FromSeconds(at), [&view] { return view; });
}

EngineReport ReportOf(int waiting) {
  EngineReport report;
  report.waiting = waiting;
  return report;
}

TEST(LearnedPace, FollowsTheFactorOfABusyReplica) {
  LearnedPace pace;
  pace.Take(OneReplica());
  SampleFor(pace, 1, 2, ViewOf(2, 1));
  EXPECT_DOUBLE_EQ(pace.View().replicas[0].step_factor, 2);
  SampleFor(pace, 2, 200, ViewOf(3, 1));
  EXPECT_NEAR(pace.View().replicas[0].step_factor, 3, 0.01);
}

TEST(LearnedPace, AnIdleReplicaTeachesNothing) {
  LearnedPace pace;
  pace.Take(OneReplica());
  SampleFor(pace, 1, 10, ViewOf(5, 0));
  EXPECT_DOUBLE_EQ(pace.View().replicas[0].step_factor, 1);
}

TEST(LearnedPace, AnEngineWithAQueueOfItsOwnIsNotBelieved) {
  LearnedPace pace;
  pace.Take(OneReplica());
  pace.Take(ReportOf(0));
  SampleFor(pace, 1, 10, ViewOf(1.2, 4));
  pace.Take(ReportOf(7));
  SampleFor(pace, 10, 60, ViewOf(0.2, 300));
  EXPECT_NEAR(pace.View().replicas[0].step_factor, 1.2, 1e-9);
  pace.Take(ReportOf(0));
  SampleFor(pace, 60, 300, ViewOf(1.3, 4));
  EXPECT_NEAR(pace.View().replicas[0].step_factor, 1.3, 0.01);
}

TEST(LearnedPace, ThePartOfNeighboursIsTakenOut) {
  LearnedPace pace;
  pace.Take(OneReplica());
  SampleFor(pace, 1, 10, ViewOf(3.6, 4, 2));
  EXPECT_NEAR(pace.View().replicas[0].step_factor, 1.2, 1e-9);
  SampleFor(pace, 10, 30, ViewOf(1.5, 4));
  EXPECT_NEAR(pace.View().replicas[0].step_factor, 1.5, 0.01) << "seen without neighbours";
}

TEST(LearnedPace, AsksForAViewOnceASecond) {
  LearnedPace pace;
  pace.Take(OneReplica());
  int asked = 0;
  for (int i = 0; i < 100; ++i) {
    pace.Sample(Instant::FromSeconds(1 + 0.05 * i), [&asked] {
      ++asked;
      return CoreView();
    });
  }
  EXPECT_EQ(asked, 5);
}

}  // namespace
}  // namespace penstock
