#include "router/core/nodes/residuals.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "tests/core/core_test_support.h"

namespace penstock::testing {
namespace {

class ResidualsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Fleet fleet = MakeFleet({.replicas = 2, .pool_tokens = 20'000});
    fleet.gpus = {{"n1/gpu0"}, {"n2/gpu0"}};
    stepper_.emplace(fleet);
  }
  NodeView Node(size_t position) { return stepper_->core.View(stepper_->now).nodes.at(position); }
  uint32_t Arrive(uint64_t id, StorageNeed need) {
    RequestArrived request;
    request.request = RequestId(id);
    request.service_class = ClassId(1);
    request.prompt = Tokens(1000);
    request.storage = need;
    for (const Action& action : stepper_->Send(request)) {
      if (const Forward* forward = std::get_if<Forward>(&action)) return forward->replica.value();
    }
    return 99;
  }

  std::optional<CoreStepper> stepper_;
};

TEST_F(ResidualsTest, AnIdleNodeHasAllLeft) {
  EXPECT_EQ(Node(0).name, "n1");
  EXPECT_EQ(Node(0).left, NodeResidual());
  EXPECT_EQ(Node(0).replicas, 1);
}

TEST_F(ResidualsTest, ARunningRequestTakesMemoryAndComputeOfItsNode) {
  const uint32_t taker = Arrive(1, StorageNeed::kUnsaid);
  stepper_->Wait(Duration::Milliseconds(100));
  stepper_->Send(FirstToken{RequestId(1)});
  EXPECT_LT(Node(taker).left.memory, 0.96);
  EXPECT_GT(Node(taker).left.memory, 0);
  EXPECT_NEAR(Node(taker).left.compute, 0.8, 0.05) << "steps of 10 ms for a goal of 50 ms";
  EXPECT_EQ(Node(1 - taker).left, NodeResidual());
}

TEST_F(ResidualsTest, ReportsAndRequestsOnTheirWayTakeStorage) {
  stepper_->Send(NodeReport{ReplicaId(0), 1, 0.5, false, 0.25});
  EXPECT_DOUBLE_EQ(Node(0).left.storage, 0.5);
  EXPECT_DOUBLE_EQ(Node(0).left.io_cpu, 0.75);
  ASSERT_EQ(Arrive(1, StorageNeed::kHeavy), 1u);
  EXPECT_DOUBLE_EQ(Node(1).left.storage, 0.5);
  EXPECT_EQ(Node(1).storage_requests, 1);
  stepper_->Send(FirstToken{RequestId(1)});
  EXPECT_DOUBLE_EQ(Node(1).left.storage, 1);
  stepper_->Finish(1, 5);
}

TEST_F(ResidualsTest, ANodeThatIsDownHasNothingLeftToCompute) {
  stepper_->Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  EXPECT_EQ(Node(0).replicas, 0);
  EXPECT_EQ(Node(0).left.memory, 0);
  EXPECT_EQ(Node(0).left.compute, 0);
}

TEST_F(ResidualsTest, RequestsThatFollowAtOnceSeeTheStorageThatIsTaken) {
  std::map<uint32_t, int> taken;
  for (uint64_t id = 1; id <= 4; ++id) ++taken[Arrive(id, StorageNeed::kHeavy)];
  EXPECT_EQ(taken, (std::map<uint32_t, int>{{0, 2}, {1, 2}})) << "no exporter tells it";
}

TEST_F(ResidualsTest, SmallNeedsKeepAwayFromTheStorageThatLargeOnesNeed) {
  stepper_->Send(NodeReport{ReplicaId(0), 1, 0.5, false, 0});
  EXPECT_EQ(Arrive(1, StorageNeed::kSome), 1u) << "nobody needs more";
  stepper_->Send(FirstToken{RequestId(1)});
  stepper_->Finish(1, 5);
  ASSERT_EQ(Arrive(2, StorageNeed::kHeavy), 1u);
  stepper_->Send(FirstToken{RequestId(2)});
  stepper_->Finish(2, 5);
  EXPECT_EQ(Arrive(3, StorageNeed::kSome), 0u);
}

TEST_F(ResidualsTest, ARequestThatIsTakenBackGivesItsStorageBack) {
  const uint32_t first = Arrive(1, StorageNeed::kHeavy);
  stepper_->Send(RequestRequeued{RequestId(1)});
  EXPECT_DOUBLE_EQ(Node(first).left.storage, 1);
  EXPECT_DOUBLE_EQ(Node(1 - first).left.storage, 0.5) << "it was placed again";
}

TEST_F(ResidualsTest, AModelWhoseFirstTokensAreLateUnderPressureNeedsStorage) {
  stepper_->Send(NodeReport{ReplicaId(0), 1, 0.9, false, 0});
  uint64_t id = 0;
  for (int i = 0; i < 40; ++i) {
    // Two at a time, so that both replicas get one.
    const uint64_t first = ++id, second = ++id;
    const uint64_t slow = Arrive(first, StorageNeed::kUnsaid) == 0 ? first : second;
    Arrive(second, StorageNeed::kUnsaid);
    const bool learned = Node(0).storage_requests + Node(1).storage_requests > 0;
    stepper_->Wait(Duration::Milliseconds(60));
    stepper_->Send(FirstToken{RequestId(first + second - slow)});
    stepper_->Wait(Duration::Seconds(1));
    stepper_->Send(FirstToken{RequestId(slow)});
    stepper_->Finish(first, 5);
    stepper_->Finish(second, 5);
    if (learned) {
      EXPECT_GE(i, 8);
      return;
    }
  }
  FAIL() << "it learned nothing";
}

}  // namespace
}  // namespace penstock::testing
