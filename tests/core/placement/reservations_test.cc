#include "router/core/placement/reservations.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

constexpr PoolId kPool(0);

FleetOptions PoolOf(int64_t tokens) {
  FleetOptions options;
  options.pool_tokens = tokens;
  return options;
}

class ReservationsTest : public ::testing::Test {
 protected:
  // The request waits, with memory reserved for it from `seconds` on. It is patient for so long.
  RequestState* Reserved(uint64_t id, int64_t prompt, double seconds, Duration patience = Duration::Seconds(1000)) {
    RequestState* request = test_.Waiting(id, prompt, ClassId(1));
    reservations().Reserve(request, ReplicaId(0), test_.now + Duration::Seconds(seconds), test_.now + patience);
    return request;
  }
  RequestState* Newcomer(uint64_t id, int64_t prompt, int64_t max_output, ClassId service_class = ClassId(1)) {
    RequestState* request = test_.New(id, prompt, service_class);
    request->arrived.max_output = Tokens(max_output);
    return request;
  }
  bool Fits(const RequestState* request) {
    std::vector<GrowthVector> growth;
    return test_.rooms.memory.PeakShareWith(*request, test_.Replica(), test_.now, growth).has_value();
  }
  Reservations& reservations() { return test_.rooms.reservations; }

  TestRooms test_{PoolOf(1000)};
};

TEST_F(ReservationsTest, ARequestThatIsGoneInTimeMayPass) {
  test_.Decoding(100, 100);
  Reserved(1, 700, 5);
  EXPECT_TRUE(Fits(Newcomer(2, 300, 10))) << "at 100 tokens a second it ends long before";
}

TEST_F(ReservationsTest, ARequestThatWouldStillBeThereMayNotPass) {
  test_.Decoding(100, 100);
  Reserved(1, 700, 0.5);
  EXPECT_FALSE(Fits(Newcomer(2, 300, 200)));
  EXPECT_TRUE(Fits(Newcomer(3, 20, 20))) << "both fit";
}

TEST_F(ReservationsTest, OnceItsTimeHasComeThePoolIsItsOwn) {
  test_.Decoding(100, 250);
  Reserved(1, 700, 5);
  EXPECT_TRUE(Fits(Newcomer(2, 100, 10)));
  test_.Wait(Duration::Seconds(6));
  EXPECT_FALSE(Fits(Newcomer(3, 100, 10)));
}

TEST_F(ReservationsTest, AHigherClassMayPassAndSoMayTheRequestItself) {
  test_.Decoding(100, 100);
  RequestState* reserved = Reserved(1, 700, 0);
  reserved->arrived.max_output = Tokens(10);
  EXPECT_TRUE(Fits(Newcomer(2, 300, 10, ClassId(0))));
  EXPECT_FALSE(Fits(Newcomer(3, 300, 10, ClassId(1))));
  EXPECT_FALSE(Fits(Newcomer(4, 300, 10, ClassId(2))));
  EXPECT_TRUE(Fits(reserved));
}

TEST_F(ReservationsTest, OnceItsPatienceEndedAHigherClassIsBoundForHalfOfItsGoal) {
  test_.Decoding(100, 100);
  Reserved(1, 700, 0, Duration::Seconds(2));
  EXPECT_TRUE(Fits(Newcomer(2, 300, 10, ClassId(0))));
  test_.Wait(Duration::Seconds(2));
  const RequestState* above = Newcomer(3, 300, 10, ClassId(0));
  EXPECT_FALSE(Fits(above));
  test_.Wait(Duration::Milliseconds(400));
  EXPECT_FALSE(Fits(above));
  test_.Wait(Duration::Milliseconds(100));
  EXPECT_TRUE(Fits(above)) << "its goal is a second";
}

TEST_F(ReservationsTest, AHigherClassNeverPausesForOneWithoutADeadline) {
  FleetOptions options = PoolOf(1000);
  options.enforce_goals = false;
  test_.Configure(MakeFleet(options));
  test_.Decoding(100, 100);
  RequestState* reserved = Reserved(1, 700, 0, Duration::Seconds(2));
  test_.Wait(Duration::Seconds(2));
  const RequestState* above = Newcomer(2, 300, 10, ClassId(0));
  EXPECT_TRUE(Fits(above));
  EXPECT_FALSE(Fits(Newcomer(3, 300, 10))) << "one of its class is bound";
  EXPECT_FALSE(reservations().Disturbs(*above, test_.now));
  reservations().End(reserved, test_.now);
  EXPECT_FALSE(reservations().Disturbs(*above, test_.now));
}

TEST_F(ReservationsTest, OneOfAboutItsSizeMayPassUntilItsPatienceEnds) {
  test_.Decoding(100, 200);
  Reserved(1, 700, 0, Duration::Seconds(2));
  EXPECT_TRUE(Fits(Newcomer(2, 550, 10)));
  test_.Wait(Duration::Seconds(2));
  const RequestState* as_large = Newcomer(3, 550, 10);
  EXPECT_FALSE(Fits(as_large));
  test_.Wait(Duration::Seconds(10));
  EXPECT_FALSE(Fits(as_large)) << "it came later";
}

TEST_F(ReservationsTest, OneThatCanBeOnTimeIsNotBoundByOneOfItsClassThatCannot) {
  test_.Decoding(100, 100);
  RequestState* reserved = Reserved(1, 700, 0);
  reserved->waiting.best_effort = true;
  EXPECT_TRUE(Fits(Newcomer(2, 300, 10)));
  EXPECT_FALSE(Fits(Newcomer(3, 300, 10, ClassId(2)))) << "of a lower class";
  RequestState* another = Newcomer(4, 300, 10);
  another->waiting.best_effort = true;
  EXPECT_FALSE(Fits(another));
}

TEST_F(ReservationsTest, ARequestThatItsTenantsShareHoldsBackBindsNobody) {
  test_.Decoding(100, 100);
  RequestState* reserved = Reserved(1, 700, 0);
  EXPECT_FALSE(Fits(Newcomer(2, 300, 10)));
  reserved->waiting.reservation.held_back = true;
  EXPECT_TRUE(Fits(Newcomer(3, 300, 10)));
  reservations().End(reserved, test_.now);
  EXPECT_FALSE(reserved->waiting.reservation.held_back);
}

TEST_F(ReservationsTest, AReservationThatEndsFreesItsPools) {
  RequestState* request = Reserved(1, 700, 0);
  EXPECT_FALSE(reservations().Free(test_.Replica()));
  EXPECT_EQ(request->waiting.reservation.replica, ReplicaId(0));
  EXPECT_TRUE(reservations().SumsHold());
  reservations().End(request, test_.now);
  EXPECT_TRUE(reservations().Free(test_.Replica()));
  EXPECT_EQ(reservations().Against(*test_.New(2, 10), kPool, test_.now), nullptr);
  EXPECT_FALSE(request->waiting.reservation.replica.has_value());
  EXPECT_TRUE(reservations().SumsHold());
}

TEST_F(ReservationsTest, OneOfALowerClassDisturbsTheClassesAboveForOneOfTheirGoals) {
  const RequestState* above = test_.New(2, 10, ClassId(0));
  EXPECT_FALSE(reservations().Disturbs(*above, test_.now));
  RequestState* request = Reserved(1, 700, 0);
  EXPECT_TRUE(reservations().Disturbs(*above, test_.now));
  EXPECT_FALSE(reservations().Disturbs(*test_.New(3, 10, ClassId(1)), test_.now));
  reservations().End(request, test_.now);
  test_.Wait(Duration::Milliseconds(990));
  EXPECT_TRUE(reservations().Disturbs(*above, test_.now));
  test_.Wait(Duration::Milliseconds(10));
  EXPECT_FALSE(reservations().Disturbs(*above, test_.now)) << "its goal is a second";
}

TEST_F(ReservationsTest, ANewDescriptionOfTheFleetEndsAll) {
  RequestState* request = Reserved(1, 700, 0);
  test_.Configure(MakeFleet(PoolOf(2000)));
  EXPECT_FALSE(request->waiting.reservation.replica.has_value());
  EXPECT_TRUE(reservations().Free(test_.Replica()));
}

TEST_F(ReservationsTest, ThoseOfAModelAreListedTheOldestFirst) {
  FleetOptions options = PoolOf(1000);
  options.replicas = 2;
  TestRooms two(options);
  RequestState* late = two.Waiting(7, 10);
  RequestState* early = two.Waiting(8, 10);
  two.rooms.reservations.Reserve(early, ReplicaId(1), two.now, two.now);
  two.rooms.reservations.Reserve(late, ReplicaId(0), two.now, two.now);
  std::vector<RequestState*> of;
  two.rooms.reservations.Of(ModelId(0), of);
  EXPECT_EQ(of, (std::vector<RequestState*>{early, late}));
}

TEST_F(ReservationsTest, BeforeItsTimeARequestHoldsNothing) {
  const RequestState* request = test_.New(1, 700);
  const PoolShare& share = test_.Replica().spec().pools[0];
  const Instant at = test_.now + Duration::Seconds(1);
  const GrowthVector growth = reservations().GrowthFrom(at, *request, test_.Replica(), share, test_.now);
  for (int i = 0; i < kHorizons; ++i) {
    if (HorizonSeconds()[i] < 1) {
      EXPECT_EQ(growth.mean[i], 0);
    } else if (HorizonSeconds()[i] < 2) {
      EXPECT_GT(growth.mean[i], 500);
    }
  }
}

TEST_F(ReservationsTest, TheTimeToRoomIsThatOfThePresentMembers) {
  RequestState* running = test_.Decoding(100, 400);
  RequestState* request = Newcomer(1, 700, 10);
  EXPECT_EQ(test_.rooms.memory.TimeToRoom(*Newcomer(2, 100, 10), test_.Replica(), test_.now), Duration());
  running->arrived.max_output = Tokens(100);
  test_.rooms.running.Leave(running, test_.now);
  test_.Start(running);
  test_.rooms.running.TakeFirstToken(running, test_.now);
  const std::optional<Duration> until = test_.rooms.memory.TimeToRoom(*request, test_.Replica(), test_.now);
  ASSERT_TRUE(until.has_value());
  EXPECT_GT(until->seconds(), 0.8) << "100 tokens at 100 a second";
  EXPECT_LT(until->seconds(), 2);
}

}  // namespace
}  // namespace penstock::testing
