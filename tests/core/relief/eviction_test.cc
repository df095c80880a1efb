#include "router/core/relief/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

constexpr ClassId kInteractive(0);
constexpr ClassId kStandard(1);
constexpr ClassId kBackground(2);

FleetOptions PoolOf(int64_t tokens, int rows = 256) {
  FleetOptions options;
  options.pool_tokens = tokens;
  options.max_sequences = rows;
  options.enforce_goals = false;  // Only rows and memory keep requests waiting.
  return options;
}

class EvictionTest : public ::testing::Test {
 protected:
  EvictionTest() { Begin(PoolOf(10'000)); }

  void Begin(const FleetOptions& options) {
    test_.Configure(MakeFleet(options));
    StartEvent();
  }
  void StartEvent() {
    test_.rooms.work.StartEvent();
    recalls_.StartEvent(test_.now);
    eviction_.StartEvent();
  }
  // One before its first token.
  RequestState* Begun(uint64_t id, int64_t prompt, ClassId service_class = kBackground) {
    RequestState* request = test_.Start(test_.New(id, prompt, service_class));
    test_.Wait(Duration::Milliseconds(1));
    return request;
  }
  // One that has made so many.
  RequestState* Running(uint64_t id, int64_t prompt, ClassId service_class = kBackground, int64_t tokens = 50) {
    RequestState* request = Begun(id, prompt, service_class);
    test_.rooms.running.TakeFirstToken(request, test_.now);
    test_.Replica().Correct(request, tokens);
    test_.rooms.running.CatchUp(test_.Replica(), 100, test_.now);
    return request;
  }
  // True: room for the request is on its way.
  bool MakeRoom(uint64_t id, int64_t prompt, ClassId service_class = kInteractive) {
    RequestState* waiting = test_.rooms.requests.Find(RequestId(id));
    if (waiting == nullptr) waiting = test_.Waiting(id, prompt, service_class);
    waiting->waiting.ForgetTries();
    EXPECT_FALSE(test_.rooms.placement.Choose(waiting, test_.now).has_value()) << id;
    return eviction_.MakeRoom(*waiting, test_.rooms.placement, test_.now, actions_).has_value();
  }
  std::vector<uint64_t> Evicted() const {
    std::vector<uint64_t> ids;
    for (const Action& action : actions_) {
      EXPECT_EQ(std::get<Abort>(action).reason, AbortReason::kEviction);
      ids.push_back(std::get<Abort>(action).request.value());
    }
    return ids;
  }

  TestRooms test_;
  Recalls recalls_{test_.rooms.fleet, test_.rooms.running};
  Eviction eviction_{test_.rooms.fleet, test_.rooms.lending, test_.rooms.memory, recalls_};
  std::vector<Action> actions_;
};

TEST_F(EvictionTest, APromptThatNoEngineHasBegunGoesFirst) {
  Running(1, 3000);
  Begun(2, 3000);
  Running(3, 3000);
  EXPECT_TRUE(MakeRoom(10, 2000));
  EXPECT_EQ(Evicted(), (std::vector<uint64_t>{2}));
  EXPECT_EQ(test_.rooms.requests.Find(RequestId(2))->phase, RequestPhase::kAborting);
}

TEST_F(EvictionTest, OnlyClassesBelowThatAreEvictableMakeRoom) {
  Running(1, 4500, kStandard);
  Running(2, 4500, kInteractive);
  EXPECT_FALSE(MakeRoom(10, 2000));
  EXPECT_FALSE(MakeRoom(11, 2000, kBackground));
  EXPECT_TRUE(actions_.empty());
}

TEST_F(EvictionTest, ARequestOfTheSameClassIsNotEvicted) {
  Running(1, 9500);
  EXPECT_FALSE(MakeRoom(10, 2000, kBackground));
}

TEST_F(EvictionTest, TheLowestClassGoesFirst) {
  Fleet fleet = MakeFleet(PoolOf(10'000));
  fleet.classes[1].evictable = true;
  test_.Configure(fleet);
  Running(1, 4500, kStandard);
  Running(2, 4500);
  EXPECT_TRUE(MakeRoom(10, 2000));
  EXPECT_EQ(Evicted(), (std::vector<uint64_t>{2})) << "though it has begun";
}

TEST_F(EvictionTest, NothingIsEvictedWhereThatIsNotEnough) {
  Running(1, 2000);
  Running(2, 7500, kStandard);
  EXPECT_FALSE(MakeRoom(10, 5000));
  EXPECT_TRUE(actions_.empty());
}

TEST_F(EvictionTest, NoMoreIsEvictedThanTheRequestLacks) {
  for (uint64_t id = 1; id <= 6; ++id) Running(id, 1600);
  EXPECT_TRUE(MakeRoom(10, 1000));
  EXPECT_EQ(actions_.size(), 1u);
  StartEvent();
  EXPECT_TRUE(MakeRoom(10, 1000)) << "its room is on its way";
  EXPECT_EQ(actions_.size(), 1u);
  EXPECT_TRUE(MakeRoom(11, 1000));
  EXPECT_EQ(actions_.size(), 2u) << "two requests need twice the room";
}

TEST_F(EvictionTest, ARequestIsEvictedTwiceAtMost) {
  Running(1, 4800)->evictions = Eviction::kMostEvictions;
  Running(2, 4800);
  EXPECT_TRUE(MakeRoom(10, 2000));
  EXPECT_EQ(Evicted(), (std::vector<uint64_t>{2}));
}

TEST_F(EvictionTest, ARequestThatTheShareOfItsClassPaidForStays) {
  Running(1, 4800)->service.guaranteed = true;
  Running(2, 4800);
  EXPECT_TRUE(MakeRoom(10, 2000));
  EXPECT_EQ(Evicted(), (std::vector<uint64_t>{2}));
}

TEST_F(EvictionTest, AnAnswerThatCannotGoOnElsewhereStays) {
  Running(1, 4800)->arrived.continues = false;
  Begun(2, 4800)->arrived.regenerable = false;
  EXPECT_FALSE(MakeRoom(10, 2000));
}

TEST_F(EvictionTest, ItCostsNoMoreGpuTimeThanTheGoalOfTheOneThatWaits) {
  Begin(PoolOf(50'000));
  // 25,000 tokens take 1.25 s and more: above the 1 s of the interactive class, below the 2 s of the standard one.
  Running(1, 25'000);
  Running(2, 24'000, kStandard);
  EXPECT_FALSE(MakeRoom(10, 4000));
  EXPECT_TRUE(MakeRoom(11, 4000, kStandard));
}

TEST_F(EvictionTest, ARequestThatFillsThePoolGetsItAlone) {
  Running(1, 2000);
  Running(2, 2000);
  EXPECT_TRUE(MakeRoom(10, 9990));
  EXPECT_EQ(actions_.size(), 2u);
}

TEST_F(EvictionTest, BatchRowsAreTakenBackToo) {
  Begin(PoolOf(100'000, 2));
  Running(1, 1000);
  Running(2, 100, kStandard);
  EXPECT_TRUE(MakeRoom(10, 500));
  EXPECT_EQ(Evicted(), (std::vector<uint64_t>{1}));
}

TEST_F(EvictionTest, EvictableClassesDoNotFillTheRoomAtOnce) {
  Running(1, 4800);
  Running(2, 4700);
  EXPECT_TRUE(MakeRoom(10, 2000));
  ASSERT_EQ(actions_.size(), 1u);
  test_.rooms.fleet.ledger().DrainUntil(std::get<Abort>(actions_[0]).lease, test_.now);
  std::vector<PoolId> freed;
  test_.rooms.fleet.ledger().Settle(test_.now, freed);
  RequestState* background = test_.Waiting(20, 500, kBackground);
  EXPECT_FALSE(test_.rooms.placement.Choose(background, test_.now).has_value());
  EXPECT_EQ(background->waiting.reason, WaitReason::kMemory);
  RequestState* interactive = test_.Waiting(21, 500, kInteractive);
  EXPECT_TRUE(test_.rooms.placement.Choose(interactive, test_.now).has_value());
  const YieldingMemory& yielding = test_.rooms.fleet.pool(PoolId(0)).yielding();
  EXPECT_FALSE(yielding.HasRoomFor(500, test_.now + Duration::Seconds(1)));
  EXPECT_TRUE(yielding.HasRoomFor(500, test_.now + Duration::Seconds(2))) << "its idleness cost twice the recompute";
}

}  // namespace
}  // namespace penstock::testing
