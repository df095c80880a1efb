#include "router/core/books/model_servers.h"

#include <gtest/gtest.h>

#include "kvmodel/step_model.h"

namespace penstock {
namespace {

ReplicaSpec Spec(double step_ms) {
  ReplicaSpec spec;
  spec.prior = {step_ms, 0, 0, 0.1};
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
  EXPECT_DOUBLE_EQ(kind.host_time, 0.05);
  EXPECT_DOUBLE_EQ(kind.FirstToken(Tokens(100), 1), 0.05 + FirstTokenAlone(Spec(10).prior, 100, 2048));
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
  EXPECT_LT(kind.FirstToken(Tokens(100), 1), kind.FirstToken(Tokens(1000), 1));
  EXPECT_DOUBLE_EQ(kind.FirstToken(Tokens(100), 2), 2 * kind.FirstToken(Tokens(100), 1));
}

}  // namespace
}  // namespace penstock
