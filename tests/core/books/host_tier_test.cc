// Prompts that the memory of the host keeps, in the books of a replica.
#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

class HostTierTest : public ::testing::Test {
 protected:
  HostTierTest() : test_(WithHost()) {}
  static Fleet WithHost() {
    Fleet fleet = MakeFleet({});
    fleet.replicas[0].prefix_cache = Tokens(100'000);
    fleet.replicas[0].host_cache = {Tokens(100'000), 1e-5};
    return fleet;
  }
  RequestState* Run(uint64_t id) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = ClassId(1);
    arrived.prompt = Tokens(2000);
    arrived.prefix = {1, 2, 3};
    return test_.Start(test_.New(arrived));
  }
  // A prompt of three blocks was computed. The GPU still has the first one, and the next request runs.
  RequestState* RunAfterLoss() {
    RequestState* first = Run(1);
    test_.rooms.running.TakeFirstToken(first, test_.now);
    test_.rooms.running.Leave(first, test_.now);
    test_.rooms.fleet.ledger().Release(first->running.lease);
    test_.rooms.requests.Erase(first->arrived.request);
    test_.Replica().prompts.SetRoom(1);
    return Run(2);
  }

  TestRooms test_;
};

TEST_F(HostTierTest, ItIsJudgedByWhatIsFoundBehindTheGpu) {
  RequestState* second = RunAfterLoss();
  EXPECT_EQ(second->running.hope.left, Tokens(512));
  EXPECT_EQ(second->running.hope.host, Tokens(2 * 512));
  test_.rooms.running.Finish(second, Tokens(2 * 512));
  EXPECT_EQ(test_.Replica().prompts.reliability().share(), 1);
  EXPECT_LT(test_.Replica().prompts.host_reliability().share(), 1);
  CoreView view;
  test_.rooms.running.Show(view);
  EXPECT_EQ(view.counters.host_expected, 2 * 512);
  EXPECT_EQ(view.counters.host_found, 512);
}

TEST_F(HostTierTest, LoadedBlocksTakeMemoryOfTheGpu) {
  RunAfterLoss();
  EXPECT_EQ(test_.rooms.fleet.ledger().balance(PoolId(0)).held, Amount(2000));
}

TEST_F(HostTierTest, AReloadWithoutItForgetsWhatItHad) {
  RequestState* second = RunAfterLoss();
  Fleet fleet = WithHost();
  fleet.replicas[0].host_cache = HostCacheSpec();
  test_.Configure(fleet);
  EXPECT_EQ(test_.Replica().prompts.Find({1, 2, 3}).host, 0);
  test_.rooms.running.Leave(second, test_.now);
  EXPECT_TRUE(test_.Replica().SumsHold());
}

}  // namespace
}  // namespace penstock::testing
