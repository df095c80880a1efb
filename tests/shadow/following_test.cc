// Cores that follow decisions of somebody else.
#include "router/core/contract/following_core.h"

#include <gtest/gtest.h>

#include <set>

#include "base/generator.h"
#include "router/core/penstock_core.h"
#include "router/policies/policy_factory.h"
#include "tests/shadow/shadow_fleet.h"

namespace penstock {
namespace {

FollowedRequest Followed(uint64_t id, uint32_t replica, int64_t prompt = 500) {
  FollowedRequest followed;
  followed.request.request = RequestId(id);
  followed.request.prompt = Tokens(prompt);
  followed.replica = ReplicaId(replica);
  return followed;
}

void StartFleet(AdmissionCore& core, uint32_t replicas) {
  std::vector<Action> actions;
  core.Apply(FleetChanged{ShadowFleet(replicas)}, Instant(), actions);
  for (uint32_t i = 0; i < replicas; ++i) core.Apply(ReplicaHealth{ReplicaId(i), Health::kUp}, Instant(), actions);
}

class EveryFollower : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { StartFleet(*core_, 2); }
  int64_t Running(size_t replica) { return core_->View(now_).replicas[replica].running; }
  FollowingCore& following() { return dynamic_cast<FollowingCore&>(*core_); }

  const std::unique_ptr<AdmissionCore> core_ = MakePolicy(GetParam(), 1);
  const Instant now_ = Instant::FromSeconds(1);
};

TEST_P(EveryFollower, ARequestThatItNeverSawRunsWhereItIsTold) {
  const std::optional<Forward> forward = following().Follow(Followed(1, 1), now_);
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->replica, ReplicaId(1));
  EXPECT_EQ(Running(1), 1);
  std::vector<Action> actions;
  core_->Apply(FirstToken{RequestId(1)}, now_, actions);
  core_->Apply(RequestClosed{RequestId(1), Outcome::kFinished, Tokens(500), Tokens(9)}, now_, actions);
  EXPECT_EQ(Running(1), 0);
}

TEST_P(EveryFollower, ARequestMovesToTheReplicaItIsTold) {
  for (const uint32_t replica : {0u, 1u, 0u}) {
    following().Follow(Followed(1, replica), now_);
    EXPECT_EQ(Running(replica), 1);
    EXPECT_EQ(Running(1 - replica), 0);
  }
}

TEST_P(EveryFollower, AWithdrawnRequestIsGone) {
  following().Follow(Followed(1, 1), now_);
  following().Withdraw(RequestId(1), now_);
  following().Withdraw(RequestId(1), now_);
  EXPECT_EQ(Running(1), 0);
  RequestArrived arrived;
  arrived.request = RequestId(2);
  arrived.prompt = Tokens(100);
  std::vector<Action> actions;
  core_->Apply(arrived, now_, actions);
  following().Withdraw(RequestId(2), now_);
  EXPECT_EQ(Running(0) + Running(1), 0);
  EXPECT_EQ(core_->View(now_).queued_requests, 0);
}

TEST_P(EveryFollower, AnUnknownReplicaIsNotFollowed) {
  EXPECT_FALSE(following().Follow(Followed(1, 7), now_));
  EXPECT_EQ(Running(0) + Running(1), 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryFollower, ::testing::ValuesIn(KnownPolicyNames()));

TEST(Following, APlacementThatDoesNotFitIsDescribedAsSuch) {
  PenstockCore core;
  StartFleet(core, 1);
  const Instant now = Instant::FromSeconds(1);
  EXPECT_LT(core.Follow(Followed(1, 0, 20'000), now)->peak_share, 1);
  const Forward second = *core.Follow(Followed(2, 0, 20'000), now);
  EXPECT_GT(second.peak_share, 1);
  EXPECT_GT(second.expected_ttft, core.Follow(Followed(3, 0, 10), now)->expected_ttft - Duration::Seconds(1));
}

TEST(Following, TheBooksOfTheCoreStaySumsOfTheirMembers) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    bench::Generator random(seed);
    CoreRules rules;
    rules.events_per_recount = 1;
    PenstockCore core(std::move(rules));
    StartFleet(core, 3);
    std::set<uint64_t> open;
    double at = 1;
    for (uint64_t step = 1; step <= 400; ++step) {
      at += random.Exponential(0.02);
      const Instant now = Instant::FromSeconds(at);
      std::vector<Action> actions;
      const uint64_t id = open.empty() || random.Uniform() < 0.4 ? step : *open.begin();
      const double kind = random.Uniform();
      if (kind < 0.25) {
        RequestArrived arrived;
        arrived.request = RequestId(step);
        arrived.prompt = Tokens(1 + static_cast<int64_t>(random.Uniform() * 9000));
        core.Apply(arrived, now, actions);
        open.insert(step);
      } else if (kind < 0.5) {
        FollowedRequest followed = Followed(id, static_cast<uint32_t>(random.Next() % 3), 3000);
        followed.begun = random.Uniform() < 0.3;
        followed.generated = Tokens(followed.begun ? 40 : 0);
        core.Follow(followed, now);
        open.insert(id);
      } else if (kind < 0.6) {
        core.Withdraw(RequestId(id), now);
        open.erase(id);
      } else if (kind < 0.75) {
        core.Apply(FirstToken{RequestId(id)}, now, actions);
      } else if (kind < 0.9) {
        core.Apply(RequestClosed{RequestId(id), Outcome::kFinished, Tokens(3000), Tokens(50)}, now, actions);
        open.erase(id);
      } else {
        core.Apply(Progress{{{ReplicaId(static_cast<uint32_t>(random.Next() % 3)), 3, now}}, {}}, now, actions);
      }
      ASSERT_EQ(core.CheckBooks(), "") << "step " << step;
    }
  }
}

}  // namespace
}  // namespace penstock
