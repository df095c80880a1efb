#include "router/core/queue/lateness.h"

#include <gtest/gtest.h>

#include "router/core/contract/admission_checks.h"
#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

// Class 1: TTFT 2 s, queue time 30 s. A prompt of 10,000 tokens needs about 0.55 s.
constexpr int64_t kPrompt = 10'000;

TEST(Lateness, ARequestIsLateOnceItsFirstTokenCanNoLongerComeInTime) {
  TestRooms test;
  RequestState* request = test.Waiting(1, kPrompt);
  const Instant last = request->waiting.next_check;
  EXPECT_GT(last, test.now + Duration::Seconds(1));
  EXPECT_LT(last, test.now + Duration::Seconds(1.6));
  EXPECT_EQ(test.rooms.lateness.ReasonOf(request, last - Duration::Nanoseconds(1)), std::nullopt);
  EXPECT_EQ(test.rooms.lateness.ReasonOf(request, last), Refusal::kDeadlineUnreachable);
}

TEST(Lateness, ARequestIsLateEarlierByTheTimeOutsideOfTheSteps) {
  Fleet fleet = MakeFleet({});
  fleet.replicas[0].learns_steps = false;
  TestRooms test(fleet);
  const Duration before = test.rooms.lateness.NextCheck(*test.New(1, kPrompt), test.now) - test.now;
  test.TeachHostTime(0.3);
  const Duration after = test.rooms.lateness.NextCheck(*test.New(2, kPrompt), test.now) - test.now;
  EXPECT_NEAR((before - after).seconds(), 0.3, 1e-3);
}

TEST(Lateness, TheEndOfTheQueueTimeIsTheReasonWhereBothBoundsHavePassed) {
  TestRooms test;
  RequestState* request = test.Waiting(1, kPrompt);
  EXPECT_EQ(test.rooms.lateness.ReasonOf(request, test.now + Duration::Seconds(30)), Refusal::kQueueTimeout);
}

TEST(Lateness, APromptThatNoReplicaCouldServeInTimeWaitsForItsQueueTime) {
  TestRooms test;
  RequestState* request = test.Waiting(1, 45'000);
  EXPECT_EQ(request->waiting.next_check, test.now + Duration::Seconds(30));
}

TEST(Lateness, ARequestWhoseGoalNoServerCouldMakeIsServedByBestEffort) {
  TestRooms test;
  EXPECT_FALSE(test.rooms.lateness.BestEffort(*test.New(1, kPrompt), test.now));
  RequestState* giant = test.New(2, 45'000);
  EXPECT_TRUE(test.rooms.lateness.BestEffort(*giant, test.now));
  giant->waiting.cached = Tokens(20'000);
  EXPECT_FALSE(test.rooms.lateness.BestEffort(*giant, test.now)) << "with its cached prompt it can be on time";
  giant->waiting.cached = Tokens(0);
  giant->waiting.committed = true;
  EXPECT_FALSE(test.rooms.lateness.BestEffort(*giant, test.now)) << "no goal binds a request that was taken back";
  FleetOptions free;
  free.enforce_goals = false;
  TestRooms unbound(free);
  EXPECT_FALSE(unbound.rooms.lateness.BestEffort(*unbound.New(3, 45'000), unbound.now));
}

// 30,000 tokens take 1.65 s in steps and tokens; 900 million pairs at 1 ms per million are 0.9 s more.
TEST(Lateness, ThePairsOfALongPromptDecideWhetherItsGoalCanBeMade) {
  Fleet fleet = MakeFleet({});
  TestRooms linear(fleet);
  EXPECT_FALSE(linear.rooms.lateness.BestEffort(*linear.New(1, 30'000), linear.now));
  fleet.replicas[0].prior.e = 1;
  TestRooms quadratic(fleet);
  EXPECT_TRUE(quadratic.rooms.lateness.BestEffort(*quadratic.New(1, 30'000), quadratic.now));
  RequestState* cached = quadratic.New(2, 20'000);
  const Instant whole = quadratic.rooms.lateness.NextCheck(*cached, quadratic.now);
  cached->waiting.cached = Tokens(10'000);
  const Instant half = quadratic.rooms.lateness.NextCheck(*cached, quadratic.now);
  // Half of the tokens and a quarter of the pairs are saved: five steps, 500 ms and 100 ms.
  EXPECT_NEAR((half - whole).seconds(), 5 * 0.010 + 0.5 + 0.1, 1e-6);
}

TEST(Lateness, ARequestOfAHomeIsLookedAtOftenAndLateNoEarlier) {
  TestRooms test;
  RequestState* request = test.New(1, kPrompt);
  const Instant last = test.rooms.lateness.LastChance(*request, test.now);
  request->arrived.home = ReplicaId(0);
  EXPECT_EQ(test.rooms.lateness.LastChance(*request, test.now), last);
  EXPECT_LT(test.rooms.lateness.NextCheck(*request, test.now), test.now + Duration::Seconds(0.3));
}

TEST(Lateness, ARequestThatWasTakenBackIsNeverLate) {
  TestRooms test;
  RequestState* request = test.New(1, kPrompt);
  request->waiting.committed = true;
  test.rooms.waiting.Push(request, test.rooms.lateness.NextCheck(*request, test.now));
  EXPECT_EQ(request->waiting.next_check, Instant::Never());
  EXPECT_EQ(test.rooms.lateness.ReasonOf(request, test.now + Duration::Seconds(90)), std::nullopt);
}

TEST(Lateness, AnAnswerThatHadBegunIsBoundByItsQueueTimeOnly) {
  TestRooms test;
  RequestState* begun = test.New(1, kPrompt);
  begun->waiting.begun = true;
  EXPECT_EQ(test.rooms.lateness.NextCheck(*begun, test.now), test.now + Duration::Seconds(30));
  RequestState* kept = test.New(2, kPrompt);
  kept->kept = Tokens(5);
  EXPECT_EQ(test.rooms.lateness.NextCheck(*kept, test.now), test.now + Duration::Seconds(30));
}

TEST(Lateness, ACachedPromptMayWaitLonger) {
  TestRooms test;
  RequestState* request = test.New(1, kPrompt);
  const Instant whole = test.rooms.lateness.NextCheck(*request, test.now);
  request->waiting.cached = Tokens(9000);
  EXPECT_GT(test.rooms.lateness.NextCheck(*request, test.now), whole);
}

TEST(Lateness, DuringAnOutageARequestIsNotLateUntilItsServersAreDownForGood) {
  TestRooms test;
  RequestState* request = test.Waiting(1, kPrompt);
  test.rooms.servers.SetHealth(ReplicaId(0), Health::kDown, test.now);
  const Instant later = test.now + Duration::Seconds(3);
  EXPECT_EQ(test.rooms.lateness.ReasonOf(request, later), std::nullopt);
  EXPECT_GE(test.rooms.lateness.NextCheckAfter(*request, later), later + Duration::Milliseconds(250));
  EXPECT_EQ(test.rooms.lateness.ReasonOf(request, test.now + kOutageGrace), Refusal::kNoReplica);
}

TEST(Lateness, WithoutTheDeadlineBoundOnlyTheQueueTimeEndsAWait) {
  CoreRules rules;
  rules.late = {rules.late.front()};
  TestRooms test(FleetOptions(), std::move(rules));
  EXPECT_EQ(test.Waiting(1, kPrompt)->waiting.next_check, test.now + Duration::Seconds(30));
}

TEST(Lateness, TheBoundsAreNamedByTheirRefusals) {
  const std::vector<LateBound> bounds = AllLateBounds();
  ASSERT_EQ(bounds.size(), 2u);
  EXPECT_EQ(TraitsOf(bounds[0].reason).label, "queue_timeout");
  EXPECT_EQ(TraitsOf(bounds[1].reason).label, "deadline");
}

}  // namespace
}  // namespace penstock::testing
