#include "router/core/contract/admission_checks.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Fleet OneReplica(int64_t context, int64_t pool) {
  Fleet fleet;
  ReplicaSpec replica;
  replica.max_context = Tokens(context);
  fleet.pools.push_back({"pool", Amount(pool), false, false});
  replica.pools = {{PoolId(0), Footprint::InTokens(Tokens(16))}};
  fleet.replicas.push_back(replica);
  return fleet;
}

std::optional<Refuse> Check(const Fleet& fleet, int64_t prompt, double sigma = 0) {
  RequestArrived request;
  request.request = RequestId(7);
  request.prompt = Tokens(prompt);
  request.prompt_sigma = sigma;
  FitCheck check(request, request.prompt);
  for (const ReplicaSpec& replica : fleet.replicas) check.Add(replica, LongestPrompt(fleet, replica));
  return check.Finding();
}

TEST(AdmissionChecks, ASurePromptIsTwoErrorsBelowTheEstimate) {
  EXPECT_EQ(SurePrompt(Tokens(1000), 0.1), Tokens(800));
  EXPECT_EQ(SurePrompt(Tokens(1000), 0), Tokens(1000));
  EXPECT_EQ(SurePrompt(Tokens(1000), 0.6), Tokens(0));
}

TEST(AdmissionChecks, TheLongestPromptLeavesOneTokenOfContextAndFitsThePool) {
  const Fleet by_context = OneReplica(8192, 100'000);
  EXPECT_EQ(LongestPrompt(by_context, by_context.replicas[0]), Tokens(8191));
  const Fleet by_pool = OneReplica(8192, 1000);
  EXPECT_EQ(LongestPrompt(by_pool, by_pool.replicas[0]), Tokens(992));  // Whole blocks of 16.
}

TEST(AdmissionChecks, AModelWithoutReplicasIsUnknown) {
  ASSERT_TRUE(Check(Fleet{}, 1).has_value());
  EXPECT_EQ(Check(Fleet{}, 1)->reason, Refusal::kUnknownModel);
}

TEST(AdmissionChecks, APromptBeyondTheContextIsRefusedWithTheContextAsItsBound) {
  const Fleet fleet = OneReplica(8192, 100'000);
  EXPECT_FALSE(Check(fleet, 8191).has_value());
  ASSERT_TRUE(Check(fleet, 8192).has_value());
  EXPECT_EQ(*Check(fleet, 8192), (Refuse{RequestId(7), Refusal::kContextExceeded, Duration(), 8192, 8192}));
  EXPECT_FALSE(Check(fleet, 8500, 0.05).has_value());
}

TEST(AdmissionChecks, APromptBeyondEveryPoolNeverFits) {
  const Fleet fleet = OneReplica(8192, 1000);
  ASSERT_TRUE(Check(fleet, 2000).has_value());
  EXPECT_EQ(*Check(fleet, 2000), (Refuse{RequestId(7), Refusal::kNeverFits, Duration(), 992, 2000}));
}

TEST(AdmissionChecks, NothingIsRefusedForGoodByFiguresInDoubt) {
  Fleet fleet = OneReplica(512, 1000);
  fleet.replicas[0].doubted_context = Tokens(8192);
  fleet.replicas[0].doubted_prompt = Tokens(8191);
  EXPECT_FALSE(Check(fleet, 8191).has_value());
  ASSERT_TRUE(Check(fleet, 8192).has_value());
  EXPECT_EQ(*Check(fleet, 8192), (Refuse{RequestId(7), Refusal::kContextExceeded, Duration(), 8192, 8192}));
}

TEST(AdmissionChecks, OneReplicaThatCanHoldThePromptIsEnough) {
  Fleet fleet = OneReplica(8192, 1000);
  fleet.replicas.push_back(fleet.replicas[0]);
  fleet.replicas[1].pools.clear();
  EXPECT_FALSE(Check(fleet, 2000).has_value());
}

TEST(AdmissionChecks, TheQueueIsFullBeyondEitherLimit) {
  CoreLimits limits;
  limits.max_queued_requests = 2;
  limits.max_queued_bytes = Bytes(100);
  EXPECT_FALSE(QueueIsFull(limits, 2, Bytes(100)));
  EXPECT_TRUE(QueueIsFull(limits, 3, Bytes(1)));
  EXPECT_TRUE(QueueIsFull(limits, 1, Bytes(101)));
  EXPECT_EQ(QueueFullRefusal(RequestId(1), limits, 3, Duration::Seconds(4)),
            (Refuse{RequestId(1), Refusal::kQueueFull, Duration::Seconds(4), 2, 3}));
}

TEST(AdmissionChecks, AReplicaOnProbationTakesOneRequest) {
  EXPECT_TRUE(IsPlaceable(Health::kUp, true));
  EXPECT_TRUE(IsPlaceable(Health::kProbing, false));
  EXPECT_FALSE(IsPlaceable(Health::kProbing, true));
  EXPECT_FALSE(IsPlaceable(Health::kDown, false));
  EXPECT_FALSE(IsPlaceable(Health::kDraining, false));
  EXPECT_TRUE(IsUp(Health::kProbing));
  EXPECT_FALSE(IsUp(Health::kDraining));
}

TEST(AdmissionChecks, ADownReplicaIsAwaitedForTheGraceOnly) {
  EXPECT_TRUE(IsAwaited(Instant::FromSeconds(10), Instant::FromSeconds(14.9)));
  EXPECT_FALSE(IsAwaited(Instant::FromSeconds(10), Instant::FromSeconds(15)));
  EXPECT_FALSE(IsAwaited(Instant(), Instant::FromSeconds(1)));
}

TEST(AdmissionChecks, RetryAfterIsBetweenASecondAndAMinute) {
  EXPECT_EQ(BoundedRetryAfter(0.1), Duration::Seconds(1));
  EXPECT_EQ(BoundedRetryAfter(7.5), Duration::Seconds(7.5));
  EXPECT_EQ(BoundedRetryAfter(1e9), Duration::Seconds(60));
}

}  // namespace
}  // namespace penstock
