#include <gtest/gtest.h>

#include "router/core/relief/fatal_pools.h"
#include "router/core/relief/victims.h"
#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

FleetOptions Fatal(int64_t tokens) {
  FleetOptions options;
  options.pool_tokens = tokens;
  options.fatal = true;
  return options;
}

RequestState* VictimOf(TestRooms& test) { return VictimIn(test.rooms.fleet.pool(PoolId(0)), test.rooms.fleet); }

TEST(Victims, TheOldestRequestIsNeverTaken) {
  TestRooms test(Fatal(10'000));
  EXPECT_EQ(VictimOf(test), nullptr);
  test.Decoding(1, 10);
  EXPECT_EQ(VictimOf(test), nullptr);
  RequestState* second = test.Decoding(2, 500);
  EXPECT_EQ(VictimOf(test), second);
}

TEST(Victims, TheRequestWithTheFewestTokensToComputeAgainIsTaken) {
  TestRooms test(Fatal(10'000));
  test.Decoding(1, 10);
  test.Decoding(2, 500);
  RequestState* small = test.Decoding(3, 100);
  EXPECT_EQ(VictimOf(test), small);
  test.Replica().Correct(small, 900);
  EXPECT_EQ(VictimOf(test)->arrived.request, RequestId(2));
}

TEST(Victims, ARequestThatItsClientWouldSeeFailIsNotTaken) {
  TestRooms test(Fatal(10'000));
  test.Decoding(1, 10);
  RequestState* second = test.Decoding(2, 100);
  second->arrived.regenerable = false;
  EXPECT_EQ(VictimOf(test), nullptr);
}

TEST(Victims, AllReplicasOfThePoolAreLookedAt) {
  FleetOptions options = Fatal(10'000);
  options.replicas = 2;
  options.elastic = true;
  TestRooms test(options);
  test.Decoding(1, 10, 0);
  RequestState* other = test.Decoding(2, 100, 1);
  EXPECT_EQ(VictimOf(test), other);
}

class FatalPoolsTest : public ::testing::Test {
 protected:
  std::vector<Action> Protect(TestRooms& test) {
    Recalls recalls(test.rooms.fleet, test.rooms.running);
    FatalPools relief(test.rooms.fleet, recalls);
    std::vector<Action> actions;
    relief.Protect(test.Replica(), test.now, actions);
    EXPECT_EQ(relief.aborts(), static_cast<int64_t>(actions.size()));
    return actions;
  }
};

TEST_F(FatalPoolsTest, APoolWithRoomForTheTimeOfAnAbortIsLeftAlone) {
  TestRooms test(Fatal(1000));
  test.Decoding(1, 200);
  test.Decoding(2, 200);
  EXPECT_TRUE(Protect(test).empty());
}

TEST_F(FatalPoolsTest, APoolThatWouldBeFullIsRelievedUntilItIsNot) {
  TestRooms test(Fatal(1000));
  for (uint64_t id = 1; id <= 4; ++id) test.Decoding(id, 240);
  const std::vector<Action> actions = Protect(test);
  ASSERT_FALSE(actions.empty());
  const Abort& abort = std::get<Abort>(actions.front());
  EXPECT_EQ(abort.request, RequestId(2));
  EXPECT_EQ(test.rooms.requests.Find(RequestId(2))->phase, RequestPhase::kAborting);
  EXPECT_GT(test.rooms.fleet.ledger().balance(PoolId(0)).draining, Amount(0));
  EXPECT_EQ(test.rooms.requests.Find(RequestId(1))->phase, RequestPhase::kDecoding);
}

TEST_F(FatalPoolsTest, OneVictimIsTakenWhereOneIsEnough) {
  TestRooms test(Fatal(1000));
  for (uint64_t id = 1; id <= 4; ++id) test.Decoding(id, 240);
  Recalls recalls(test.rooms.fleet, test.rooms.running);
  FatalPools relief(test.rooms.fleet, recalls);
  std::vector<Action> actions;
  for (int i = 0; i < 5; ++i) relief.Protect(test.Replica(), test.now, actions);
  EXPECT_EQ(actions.size(), 1u);
}

TEST_F(FatalPoolsTest, AnAbortThatGivesNothingBackInTimeIsFollowedByAnother) {
  TestRooms test(Fatal(1000));
  for (uint64_t id = 1; id <= 4; ++id) test.Decoding(id, 240);
  Recalls recalls(test.rooms.fleet, test.rooms.running);
  FatalPools relief(test.rooms.fleet, recalls);
  std::vector<Action> actions;
  relief.Protect(test.Replica(), test.now, actions);
  test.Wait(Duration::Seconds(1));
  recalls.StartEvent(test.now);
  relief.Protect(test.Replica(), test.now, actions);
  EXPECT_GT(actions.size(), 1u);
}

TEST_F(FatalPoolsTest, APoolWithoutAVictimIsLeftToItsFate) {
  TestRooms test(Fatal(1000));
  test.Decoding(1, 995);
  EXPECT_TRUE(Protect(test).empty());
}

TEST_F(FatalPoolsTest, APoolWhoseOverflowIsNotFatalIsNotRelieved) {
  FleetOptions options = Fatal(1000);
  options.fatal = false;
  TestRooms test(options);
  for (uint64_t id = 1; id <= 4; ++id) test.Decoding(id, 240);
  EXPECT_TRUE(Protect(test).empty());
}

}  // namespace
}  // namespace penstock::testing
