#include "app/shadow/shadow_thread.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/shadow/shadow_fleet.h"

namespace penstock {
namespace {

constexpr size_t kSmallQueue = 4;

std::unique_ptr<PolicyShadow> Beside(PolicyShadow::Options options) {
  auto shadow = PolicyShadow::Create(std::move(options));
  EXPECT_TRUE(shadow.ok()) << shadow.status();
  return *std::move(shadow);
}

// Ends once the report is as wanted, or at the time limit of the test.
ShadowReport WaitFor(const ShadowThread& thread, const std::function<bool(const ShadowReport&)>& wanted) {
  for (;;) {
    const ShadowReport report = thread.Report();
    if (wanted(report)) return report;
    std::this_thread::yield();
  }
}

void Arrives(ShadowThread& thread, uint64_t id, uint32_t replica) {
  RequestArrived arrived;
  arrived.request = RequestId(id);
  arrived.prompt = Tokens(500);
  thread.See(arrived, Now(), {Forward{RequestId(id), ReplicaId(replica), LeaseId(id)}});
}

TEST(ShadowThread, AFleetThatChangesWhileEventsAreLostIsKnownAfterwards) {
  ShadowThread thread(Beside({"round_robin", "penstock"}), kSmallQueue);
  thread.See(FleetChanged{ShadowFleet(1)}, Now(), {});
  thread.See(ReplicaHealth{ReplicaId(0), Health::kUp}, Now(), {});
  for (uint64_t id = 1; id <= 10; ++id) Arrives(thread, id, 0);
  thread.See(FleetChanged{ShadowFleet(3)}, Now(), {});
  thread.See(ReplicaHealth{ReplicaId(2), Health::kUp}, Now(), {});
  thread.Start();
  const ShadowReport lost = WaitFor(thread, [](const ShadowReport& report) { return report.resets == 1; });
  EXPECT_EQ(lost.dropped, 8) << "two arrivals had room";
  EXPECT_EQ(lost.compared, 2);
  for (uint64_t id = 1; id <= 2; ++id) thread.See(RequestClosed{RequestId(id)}, Now(), {});
  Arrives(thread, 11, 1);
  const ShadowReport after = WaitFor(thread, [](const ShadowReport& report) { return report.compared == 3; });
  ASSERT_FALSE(after.recent.empty()) << "the shadow sends nothing to a replica that is down";
  EXPECT_EQ(after.recent[0].replica, "r1") << "its name came while events were lost";
  EXPECT_EQ(after.dropped, 8);
  EXPECT_EQ(after.resets, 1);
  EXPECT_FALSE(after.failed);
  thread.Stop();
}

TEST(ShadowThread, AnExceptionEndsTheShadowAndNothingElse) {
  ShadowThread thread(
      Beside({"round_robin", "round_robin", 1, []() -> CoreView { throw std::runtime_error("no view"); }}));
  thread.Start();
  thread.See(FleetChanged{ShadowFleet(1)}, Now(), {});
  const ShadowReport report = WaitFor(thread, [](const ShadowReport& seen) { return seen.failed; });
  EXPECT_EQ(report.counterfactual.unavailable, "the shadow failed");
  Arrives(thread, 1, 0);
  thread.Stop();
}

}  // namespace
}  // namespace penstock
