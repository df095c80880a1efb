#include "router/core/nodes/node_watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>

#include "tests/core/core_test_support.h"

namespace penstock::testing {
namespace {

class NodeWatchTest : public ::testing::Test {
 protected:
  void Start(int replicas) { Start(MakeFleet({.replicas = replicas})); }
  void Start(const Fleet& fleet) { stepper_.emplace(fleet); }
  void Report(uint32_t replica, double derate, double storage = 0, bool closed = false) {
    stepper_->Send(NodeReport{ReplicaId(replica), derate, storage, closed});
  }
  double Derate(size_t replica) const { return stepper_->core.View(stepper_->now).replicas[replica].node.derate; }
  // The replicas that take so many requests, which all run.
  std::map<uint32_t, int> Place(int requests) {
    std::map<uint32_t, int> taken;
    for (int i = 0; i < requests; ++i) {
      for (const Action& action : stepper_->Arrive(++last_, 1000)) {
        const Forward* forward = std::get_if<Forward>(&action);
        if (forward == nullptr) continue;
        ++taken[forward->replica.value()];
        stepper_->Send(FirstToken{forward->request});
      }
    }
    return taken;
  }

  static std::optional<ReplicaId> ForwardedTo(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const Forward* forward = std::get_if<Forward>(&action)) return forward->replica;
    }
    return std::nullopt;
  }

  std::optional<CoreStepper> stepper_;
  uint64_t last_ = 0;
};

TEST_F(NodeWatchTest, ADeratedNodeGetsLessInProportion) {
  Start(3);
  Report(0, 4);
  const std::map<uint32_t, int> taken = Place(36);
  EXPECT_GT(taken.at(1), 2 * taken.at(0));
  EXPECT_GT(taken.at(2), 2 * taken.at(0));
  EXPECT_GT(taken.at(0), 0) << "it is not closed";
}

TEST_F(NodeWatchTest, OnlyThePartOverTheBestPeerCounts) {
  Start(2);
  Report(0, 6);
  Report(1, 2);
  EXPECT_DOUBLE_EQ(Derate(0), 3);
  EXPECT_DOUBLE_EQ(Derate(1), 1);
}

TEST_F(NodeWatchTest, ExportersThatAllLieAlikeDerateNobody) {
  Start(3);
  for (uint32_t i = 0; i < 3; ++i) Report(i, 20, 1, true);
  for (size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(Derate(i), 1);
  int taken = 0;
  for (const auto& [replica, count] : Place(9)) taken += count;
  EXPECT_EQ(taken, 9) << "closed nodes serve where no open one is left";
}

TEST_F(NodeWatchTest, AReplicaWithoutAPeerKeepsItsPace) {
  Start(1);
  Report(0, 5);
  EXPECT_DOUBLE_EQ(Derate(0), 1);
}

TEST_F(NodeWatchTest, AClosedNodeIsSparedWhileAnOpenOneCanServe) {
  Start(2);
  Report(0, 1, 0, true);
  EXPECT_EQ(Place(10), (std::map<uint32_t, int>{{1, 10}}));
  Report(0, 1);
  EXPECT_GT(Place(10).at(0), 0) << "open again";
}

TEST_F(NodeWatchTest, AClosedNodeServesOnceItsLastPeerIsDown) {
  Start(2);
  Report(0, 1, 0, true);
  stepper_->Send(ReplicaHealth{ReplicaId(1), Health::kDown});
  EXPECT_EQ(Place(3), (std::map<uint32_t, int>{{0, 3}}));
}

TEST_F(NodeWatchTest, ARequestThatFailedOnTheOnlyOpenReplicaGoesToAClosedOne) {
  Start(2);
  Report(0, 1, 0, true);
  stepper_->Arrive(1, 1000);
  EXPECT_EQ(ForwardedTo(stepper_->Send(RequestRequeued{RequestId(1)})), ReplicaId(0));
}

TEST_F(NodeWatchTest, ARequestWhoseHomeIsClosedIsServedThere) {
  Start(2);
  Report(0, 1, 0, true);
  RequestArrived arrived;
  arrived.request = RequestId(1);
  arrived.service_class = ClassId(1);
  arrived.prompt = Tokens(1000);
  arrived.home = ReplicaId(0);
  EXPECT_EQ(ForwardedTo(stepper_->Send(arrived)), ReplicaId(0));
}

TEST_F(NodeWatchTest, TheDeratePassesWhenTheBetterPeerGoesDown) {
  Start(2);
  Report(0, 4);
  ASSERT_DOUBLE_EQ(Derate(0), 4);
  stepper_->Send(ReplicaHealth{ReplicaId(1), Health::kDown});
  EXPECT_DOUBLE_EQ(Derate(0), 1);
}

TEST_F(NodeWatchTest, RequestsOfAStorageModelPreferNodesWithStorageToSpare) {
  Fleet fleet = MakeFleet({.replicas = 2});
  fleet.models[0].storage = true;
  Start(fleet);
  Report(0, 1, 0.8);
  const std::map<uint32_t, int> taken = Place(24);
  EXPECT_GT(taken.at(1), 2 * taken.at(0));
}

TEST_F(NodeWatchTest, OtherModelsIgnoreStoragePressure) {
  Start(2);
  Report(0, 1, 0.8);
  EXPECT_EQ(Place(24), (std::map<uint32_t, int>{{0, 12}, {1, 12}}));
}

TEST_F(NodeWatchTest, ReportsThatAreNoNumbersCountAsWell) {
  Start(2);
  Report(0, std::nan(""), std::nan(""));
  EXPECT_DOUBLE_EQ(Derate(0), 1);
  Report(0, -5);
  EXPECT_DOUBLE_EQ(Derate(0), 1);
  Report(0, 1e300);
  EXPECT_DOUBLE_EQ(Derate(0), NodeWatch::kMost);
}

TEST_F(NodeWatchTest, AReplicaThatLeftTheFleetLosesItsReport) {
  Fleet fleet = MakeFleet({.replicas = 2});
  Start(fleet);
  Report(0, 4);
  fleet.replicas[0].removed = true;
  stepper_->Send(FleetChanged{fleet});
  fleet.replicas[0].removed = false;
  stepper_->Send(FleetChanged{fleet});
  EXPECT_DOUBLE_EQ(Derate(0), 1);
}

TEST_F(NodeWatchTest, AReportAboutAnUnknownReplicaIsVoid) {
  Start(1);
  Report(77, 4, 1, true);
  EXPECT_DOUBLE_EQ(Derate(0), 1);
}

}  // namespace
}  // namespace penstock::testing
