#include "router/core/tenants/tenant_gate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

using testing::FleetOptions;
using testing::MakeFleet;
using testing::Only;
using testing::Text;

constexpr TenantId kSmall{11};

// Penstock's core behind the gate; the tenant "small" has limits.
class CoreWithTenants : public ::testing::Test {
 protected:
  void Begin(const TenantLimits& limits, const FleetOptions& options = {}) {
    fleet_ = MakeFleet(options);
    fleet_.tenants = {{kSmall, "small", 1, limits}};
    Send(FleetChanged{fleet_});
    Send(ReplicaHealth{ReplicaId(0), Health::kUp});
  }
  std::vector<Action> Send(const Event& event) {
    std::vector<Action> actions;
    gate_.Apply(event, now_, actions);
    return actions;
  }
  std::vector<Action> Arrive(uint64_t id, int64_t prompt = 100, TenantId tenant = kSmall) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = ClassId(1);
    arrived.tenant = tenant;
    arrived.prompt = Tokens(prompt);
    arrived.max_output = Tokens(100);
    return Send(arrived);
  }
  void Close(uint64_t id, Outcome outcome, int64_t output) {
    Send(RequestClosed{RequestId(id), outcome, Tokens(0), Tokens(output), false});
  }
  int64_t Available() const { return gate_.View(now_).tenants.at(0).available.value(); }
  static Refusal ReasonOf(const std::vector<Action>& actions) {
    const Refuse* refuse = Only<Refuse>(actions);
    EXPECT_NE(refuse, nullptr) << Text(actions);
    return refuse == nullptr ? Refusal::kInvalidKey : refuse->reason;
  }

  Fleet fleet_;
  TenantGate gate_{std::make_unique<PenstockCore>()};
  Instant now_ = Instant::FromSeconds(100);
};

TEST_F(CoreWithTenants, ATenantOverItsTokensIsRefusedAndTheOthersAreServed) {
  Begin({Tokens(300), 0});
  EXPECT_NE(Only<Forward>(Arrive(1)), nullptr);
  EXPECT_EQ(ReasonOf(Arrive(2)), Refusal::kTenantTokens);
  EXPECT_NE(Only<Forward>(Arrive(3, 100, TenantId(12))), nullptr);
  now_ = now_ + Duration::Seconds(20);
  EXPECT_NE(Only<Forward>(Arrive(4)), nullptr);
}

TEST_F(CoreWithTenants, ARefusedArrivalIsUnknownToTheInnerCore) {
  Begin({Tokens(0), 1});
  Arrive(1);
  EXPECT_EQ(ReasonOf(Arrive(2)), Refusal::kTenantRequests);
  EXPECT_FALSE(gate_.WaitOf(RequestId(2)));
  EXPECT_EQ(gate_.View(now_).replicas.at(0).running, 1);
}

TEST_F(CoreWithTenants, TheEndCorrectsTheCharge) {
  Begin({Tokens(300), 1});
  Arrive(1);
  EXPECT_EQ(Available(), 100);
  Close(1, Outcome::kFinished, 20);
  EXPECT_EQ(Available(), 180);
  EXPECT_NE(Only<Forward>(Arrive(2, 50)), nullptr);
}

TEST_F(CoreWithTenants, AClientThatLeavesAnAnswerInOnePiecePaysForWhatItsEngineIsTakenToHaveMade) {
  Begin({Tokens(6000), 0});
  RequestArrived arrived;
  arrived.request = RequestId(1);
  arrived.service_class = ClassId(1);
  arrived.tenant = kSmall;
  arrived.prompt = Tokens(100);
  arrived.max_output = Tokens(5000);
  arrived.observed = false;
  ASSERT_NE(Only<Forward>(Send(arrived)), nullptr);
  const Instant leaves = now_ + Duration::Seconds(20);
  while (gate_.NextDeadline().value_or(Instant::Never()) < leaves) {
    now_ = std::max(now_, *gate_.NextDeadline());
    Send(TimerFired{});
  }
  const Tokens unseen = gate_.UnseenOutput(RequestId(1)).value_or(Tokens(0));
  EXPECT_GT(unseen, Tokens(300)) << "it ran for 20 s";
  EXPECT_LT(unseen, Tokens(5000));
  Close(1, Outcome::kClientGone, 0);
  const int64_t refilled = 6000 * (now_ - Instant::FromSeconds(100)).nanoseconds() / 60'000'000'000;
  EXPECT_NEAR(Available(), std::min<int64_t>(6000, 6000 - 356 + refilled) + 256 - unseen.value(), 2);
}

TEST_F(CoreWithTenants, AWaitingRequestThatIsRefusedLaterIsChargedNothing) {
  FleetOptions one;
  one.max_sequences = 1;
  one.enforce_goals = false;
  Begin({Tokens(600), 2}, one);
  Arrive(1);
  EXPECT_NE(Only<Park>(Arrive(2)), nullptr);
  EXPECT_EQ(ReasonOf(Arrive(3)), Refusal::kTenantRequests);
  EXPECT_EQ(Available(), 200);
  now_ = now_ + Duration::Seconds(31);  // The queue time of the class is 30 s.
  EXPECT_EQ(ReasonOf(Send(TimerFired{})), Refusal::kQueueTimeout);
  // Half a minute gives 310 tokens, the refund the other 200: that is the whole limit.
  EXPECT_EQ(Available(), 600);
  EXPECT_NE(Only<Park>(Arrive(4)), nullptr);
}

TEST_F(CoreWithTenants, ARequeuedRequestKeepsItsCharge) {
  Begin({Tokens(300), 0});
  Arrive(1);
  EXPECT_FALSE(Send(RequestRequeued{RequestId(1), Tokens(30), false}).empty());
  EXPECT_EQ(Available(), 100);
  Close(1, Outcome::kClientGone, 40);
  EXPECT_EQ(Available(), 160);
}

TEST_F(CoreWithTenants, ARequestThatNoReplicaCouldServeIsToldThatFirst) {
  Begin({Tokens(300), 0});
  Arrive(1);
  EXPECT_EQ(ReasonOf(Arrive(2, 60'000)), Refusal::kContextExceeded);
  RequestArrived other;
  other.request = RequestId(3);
  other.model = ModelId(1);
  other.tenant = kSmall;
  other.prompt = Tokens(900);
  EXPECT_EQ(ReasonOf(Send(other)), Refusal::kUnknownModel);
  Send(ShutdownStarted{});
  EXPECT_EQ(ReasonOf(Arrive(4)), Refusal::kShuttingDown);
  EXPECT_EQ(Available(), 100);
}

TEST_F(CoreWithTenants, AReloadChangesTheLimitsAtOnce) {
  Begin({Tokens(300), 0});
  Arrive(1);
  EXPECT_EQ(ReasonOf(Arrive(2)), Refusal::kTenantTokens);
  fleet_.tenants[0].limits = {Tokens(1000), 0};
  Send(FleetChanged{fleet_});
  EXPECT_NE(Only<Forward>(Arrive(3)), nullptr);
  fleet_.tenants.clear();
  Send(FleetChanged{fleet_});
  EXPECT_TRUE(gate_.View(now_).tenants.empty());
  EXPECT_NE(Only<Forward>(Arrive(4, 5000)), nullptr);
}

}  // namespace
}  // namespace penstock
