#include "router/core/books/model_servers.h"

#include <gtest/gtest.h>

#include "kvmodel/step_model.h"

namespace penstock {
namespace {

ReplicaSpec Spec(double step_ms) {
  ReplicaSpec spec;
  spec.prior = {step_ms, 0, 0, 0.1, 1};
  return spec;
}

TEST(ModelServers, ReplicasOfEqualStepTimesAreOneKind) {
  ModelServers servers;
  servers.Add(3, Spec(10));
  servers.Add(5, Spec(10));
  servers.Add(7, Spec(20));
  EXPECT_EQ(servers.replicas(), (std::vector<size_t>{3, 5, 7}));
  EXPECT_EQ(servers.kinds().size(), 2u);
}

TEST(ModelServers, AKindIsAsFastAsItsFastestReplicaThatIsUp) {
  ModelServers servers;
  servers.Add(0, Spec(10));
  servers.Add(1, Spec(10));
  servers.Add(2, Spec(10));
  servers.Refresh({{0, 2, 3, true}, {0, 1.5, 4, true}, {0, 0.5, 0.5, false}}, Instant::FromSeconds(1));
  EXPECT_EQ(servers.kinds()[0].idle_factor, 1.5);
  EXPECT_EQ(servers.kinds()[0].busy_factor, 3);
}

TEST(ModelServers, TheLeastTimeOutsideOfTheStepsCountsForTheFirstToken) {
  ModelServers servers;
  for (size_t i = 0; i < 3; ++i) servers.Add(i, Spec(10));
  servers.Refresh({{0, 1, 1, true, 0.08}, {0, 1, 1, true, 0.05}, {0, 1, 1, false, 0.01}}, Instant::FromSeconds(1));
  const ModelServers::Kind& kind = servers.kinds()[0];
  EXPECT_DOUBLE_EQ(kind.delay, 0.05);
  const PrefillWork prompt = PrefillOf(Tokens(0), Tokens(100));
  EXPECT_DOUBLE_EQ(kind.FirstToken(prompt, 1), 0.05 + FirstTokenAlone(Spec(10).prior, prompt, Tokens(2048)));
}

TEST(ModelServers, WhileNoReplicaIsUpAllOfThemCount) {
  ModelServers servers;
  servers.Add(0, Spec(10));
  servers.Refresh({{0, 2, 3, false}}, Instant::FromSeconds(1));
  EXPECT_EQ(servers.kinds()[0].idle_factor, 2);
}

TEST(ModelServers, FactorsAreReadAgainAfterAWhileOrWhenAReplicaChanged) {
  ModelServers servers;
  servers.Add(0, Spec(10));
  Instant now = Instant::FromSeconds(1);
  servers.Refresh({{0, 2, 2, true}}, now);
  servers.Refresh({{0, 1, 1, true}}, now);
  EXPECT_EQ(servers.kinds()[0].idle_factor, 2);
  servers.Changed();
  servers.Refresh({{0, 1, 1, true}}, now);
  EXPECT_EQ(servers.kinds()[0].idle_factor, 1);
  servers.Refresh({{0, 3, 3, true}}, now + ModelServers::kRefresh);
  EXPECT_EQ(servers.kinds()[0].idle_factor, 3);
}

TEST(ModelServers, ALongerPromptAndASlowerReplicaNeedMoreTimeToTheFirstToken) {
  ModelServers servers;
  servers.Add(0, Spec(10));
  const ModelServers::Kind& kind = servers.kinds()[0];
  const PrefillWork shorter = PrefillOf(Tokens(0), Tokens(100));
  EXPECT_LT(kind.FirstToken(shorter, 1), kind.FirstToken(PrefillOf(Tokens(0), Tokens(1000)), 1));
  EXPECT_DOUBLE_EQ(kind.FirstToken(shorter, 2), 2 * kind.FirstToken(shorter, 1));
}

TEST(ModelServers, TokensBehindACachedContextTakeLongerThanTheSameTokensAlone) {
  ModelServers servers;
  servers.Add(0, Spec(10));
  servers.Refresh({{0, 1, 1, true}}, Instant::FromSeconds(1));
  const ModelServers::Kind& kind = servers.kinds()[0];
  const PrefillWork alone = PrefillOf(Tokens(0), Tokens(1000));
  const PrefillWork behind = PrefillOf(Tokens(50'000), Tokens(51'000));
  // 2 x 1,000 x 50,000 pairs more, at 1 ms per million.
  EXPECT_NEAR(kind.FirstToken(behind, 1) - kind.FirstToken(alone, 1), 0.1, 1e-9);
  EXPECT_NEAR(kind.Work(Tokens(51'000), behind, 1, 1) - kind.Work(Tokens(51'000), alone, 1, 1), 0.1, 1e-9);
}

}  // namespace
}  // namespace penstock
