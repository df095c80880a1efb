// Metrics show what is in the fleet, or not yet quite out of it.
#include "router/telemetry/shown_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/telemetry/sample_view.h"

namespace penstock {
namespace {

using ::testing::IsEmpty;

// The sample fleet, in which the replica "chat-a" left and came back under another address.
Fleet FleetWithReturned() {
  Fleet fleet = SampleFleet();
  fleet.replicas[0].removed = true;
  fleet.replicas.push_back(SampleFleet().replicas[0]);
  fleet.replicas.back().pools[0].pool = PoolId(2);
  fleet.pools.push_back({.name = "gpu0/chat", .capacity = Amount(500), .in_bytes = false});
  return fleet;
}

CoreView ViewWithReturned() {
  CoreView view = SampleView();
  view.pools[0].held = view.pools[0].promised = Amount(0);
  view.pools.push_back({.name = "gpu0/chat", .in_bytes = false, .capacity = Amount(500), .held = Amount(5)});
  view.replicas[0].running = 0;
  view.replicas.push_back({.name = "chat-a", .model = "llama-3.1-8b", .health = Health::kUp, .running = 2});
  return view;
}

TEST(ShownView, NothingIsHiddenOfAFleetThatNothingLeft) {
  const CoreView shown = ShownOf(SampleView(), GonePartsOf(SampleFleet()));
  EXPECT_EQ(shown.pools.size(), 2u);
  EXPECT_EQ(shown.replicas.size(), 2u);
  EXPECT_EQ(shown.lanes.size(), 1u);
  EXPECT_EQ(ShownOf(SampleView(), GoneParts()).replicas.size(), 2u);
}

TEST(ShownView, AReplicaThatCameInThePlaceOfAnotherHasItsNameAlone) {
  const CoreView shown = ShownOf(ViewWithReturned(), GonePartsOf(FleetWithReturned()));
  ASSERT_EQ(shown.replicas.size(), 2u);
  EXPECT_EQ(shown.replicas[0].name, "code-a");
  EXPECT_EQ(shown.replicas[1].name, "chat-a");
  EXPECT_EQ(shown.replicas[1].health, Health::kUp);
  ASSERT_EQ(shown.pools.size(), 2u);
  EXPECT_EQ(shown.pools[1].capacity, Amount(500));
}

TEST(ShownView, RequestsAtAReplicaThatLeftAreShownUntilTheyEnd) {
  CoreView view = ViewWithReturned();
  view.replicas[0].running = 3;
  view.pools[0].held = Amount(7);
  const CoreView shown = ShownOf(view, GonePartsOf(FleetWithReturned()));
  ASSERT_EQ(shown.replicas.size(), 2u);
  EXPECT_EQ(shown.replicas[1].running, 5);
  EXPECT_EQ(shown.pools.size(), 2u) << "its pool has the name of another one";
  Fleet fleet = SampleFleet();
  fleet.replicas[0].removed = true;
  const CoreView alone = ShownOf(SampleView(), GonePartsOf(fleet));
  EXPECT_EQ(alone.replicas.size(), 2u);
  EXPECT_EQ(alone.pools.size(), 2u);
}

TEST(ShownView, AModelThatNobodyServesIsShownWhileRequestsWaitForIt) {
  Fleet fleet = SampleFleet();
  fleet.replicas[0].models.clear();
  CoreView view = SampleView();
  EXPECT_EQ(ShownOf(view, GonePartsOf(fleet)).lanes.size(), 1u);
  view.lanes[0].waiting = 0;
  EXPECT_THAT(ShownOf(view, GonePartsOf(fleet)).lanes, IsEmpty());
  EXPECT_EQ(ShownOf(view, GonePartsOf(SampleFleet())).lanes.size(), 1u);
}

}  // namespace
}  // namespace penstock
