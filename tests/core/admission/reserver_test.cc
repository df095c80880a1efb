#include "router/core/admission/reserver.h"

#include "tests/core/admission/admission_fixture.h"

namespace penstock::testing {
namespace {

class ReserverTest : public ::testing::Test {
 protected:
  void Begin(bool enforce_goals, int replicas = 1, int64_t pool_tokens = 20'000) {
    FleetOptions options;
    options.pool_tokens = pool_tokens;
    options.enforce_goals = enforce_goals;
    options.replicas = replicas;
    test_ = std::make_unique<TestRooms>(options);
    reserver_ = std::make_unique<Reserver>(test_->rooms);
  }
  // A request with a limit that runs, and so ends for certain.
  void Run(uint64_t id, int64_t prompt, int64_t max_output, uint32_t replica = 0) {
    RequestState* request = test_->New(id, prompt);
    request->arrived.max_output = Tokens(max_output);
    test_->Start(request, replica);
    test_->rooms.running.TakeFirstToken(request, test_->now);
  }
  // A request that waits, and that only memory blocks.
  RequestState* Blocked(uint64_t id, int64_t prompt, ClassId service_class = ClassId(1)) {
    RequestState* request = test_->Waiting(id, prompt, service_class);
    request->arrived.max_output = Tokens(50);
    request->waiting.reason = WaitReason::kMemory;
    reserver_->OnBlocked(request, test_->now);
    test_->Wait(Duration::Milliseconds(2));
    return request;
  }

  std::unique_ptr<TestRooms> test_;
  std::unique_ptr<Reserver> reserver_;
};

TEST_F(ReserverTest, ALargeRequestThatMemoryBlocksGetsAReservationAtOnce) {
  Begin(true);
  Run(100, 10'000, 50);
  EXPECT_EQ(Blocked(1, 14'000)->waiting.reservation.replica, ReplicaId(0));
}

TEST_F(ReserverTest, ASmallRequestGetsNoneAndWithoutADeadlineOneOnceItStarves) {
  Begin(false);
  Run(100, 18'000, 500);
  RequestState* request = Blocked(1, 2500);
  EXPECT_FALSE(request->waiting.reservation.replica.has_value());
  test_->Wait(Duration::Seconds(11));
  reserver_->OnBlocked(request, test_->now);
  EXPECT_TRUE(request->waiting.reservation.replica.has_value());
}

TEST_F(ReserverTest, RoomThatComesAfterTheDeadlineIsNotKept) {
  Begin(true, 1, 15'000);
  Run(100, 10'000, 5000);
  EXPECT_FALSE(Blocked(1, 14'000)->waiting.reservation.replica.has_value());
}

TEST_F(ReserverTest, RoomThatIsExpectedALittleLateIsKept) {
  Begin(true);
  RequestState* request = test_->Waiting(1, 14'000);
  request->arrived.max_output = Tokens(50);
  request->waiting.reason = WaitReason::kMemory;
  request->arrival = test_->now - Duration::Milliseconds(200);
  const Duration left = test_->rooms.lateness.NextCheck(*request, test_->now) - test_->now;
  Run(100, 10'000, 150);
  const auto room = test_->rooms.memory.TimeToRoom(*request, test_->Replica(), test_->now);
  ASSERT_TRUE(room && *room > left) << room.value_or(Duration()).seconds() << " of " << left.seconds();
  reserver_->OnBlocked(request, test_->now);
  EXPECT_TRUE(request->waiting.reservation.replica.has_value());
}

TEST_F(ReserverTest, TheReplicaWhoseRoomComesFirstIsTaken) {
  Begin(true, 2);
  Run(100, 10'000, 90, 0);
  Run(101, 10'000, 20, 1);
  EXPECT_EQ(Blocked(1, 14'000)->waiting.reservation.replica, ReplicaId(1));
  EXPECT_EQ(Blocked(2, 14'000)->waiting.reservation.replica, ReplicaId(0)) << "the other one is kept already";
  EXPECT_FALSE(Blocked(3, 14'000)->waiting.reservation.replica.has_value());
  EXPECT_TRUE(test_->rooms.reservations.SumsHold());
}

TEST_F(ReserverTest, OneEventPaysForOneSearch) {
  Begin(true, 2);
  Run(100, 10'000, 50, 0);
  Run(101, 10'000, 50, 1);
  RequestState* first = Blocked(1, 14'000);
  test_->now = test_->now - Duration::Milliseconds(2);
  RequestState* second = Blocked(2, 14'000);
  EXPECT_TRUE(first->waiting.reservation.replica.has_value());
  EXPECT_FALSE(second->waiting.reservation.replica.has_value());
  test_->Wait(Duration::Milliseconds(100));
  reserver_->OnBlocked(second, test_->now);
  EXPECT_TRUE(second->waiting.reservation.replica.has_value());
}

TEST_F(ReserverTest, WithADeadlineASmallRequestGetsOneAfterHalfOfItsTimeWhileFewAreLate) {
  for (const bool late : {false, true}) {
    Begin(true);
    Run(100, 19'000, 40);
    if (late) {
      const RequestState* refused = test_->New(50, 100);
      for (int i = 0; i < 97; ++i) test_->rooms.order->Served(refused->arrived);
      for (int i = 0; i < 3; ++i) test_->rooms.order->Refused(refused->arrived);
    }
    RequestState* request = Blocked(1, 2500);
    EXPECT_FALSE(request->waiting.reservation.replica.has_value());
    const Duration time = test_->rooms.lateness.LastChance(*request, test_->now) - request->arrival;
    test_->Wait(Duration::Seconds(0.5 * time.seconds()));
    reserver_->OnBlocked(request, test_->now);
    EXPECT_NE(request->waiting.reservation.replica.has_value(), late);
  }
}

// The margin over the mean would else refuse it: its deadline ends the wait, and the memory stood empty for nothing.
TEST_F(ReserverTest, AfterHalfOfItsTimeAReservedRequestNeedsRoomByTheMeanOnly) {
  Begin(true);
  Run(100, 10'000, 50);
  RequestState* reserved = Blocked(1, 14'000);
  RequestState* other = Blocked(2, 14'000);
  ASSERT_TRUE(reserved->waiting.reservation.replica.has_value());
  ASSERT_FALSE(other->waiting.reservation.replica.has_value());
  const Duration time = test_->rooms.lateness.LastChance(*reserved, test_->now) - reserved->arrival;
  const Duration half = Duration::Seconds(0.5 * time.seconds());
  int before = 0;
  int after = 0;
  for (int ms = 0; ms < 2000; ms += 10) {
    const Duration waited = test_->now - reserved->arrival;
    reserver_->OnBlocked(reserved, test_->now);
    reserver_->OnBlocked(other, test_->now);
    ASSERT_EQ(reserved->waiting.reservation.by_mean, waited >= half) << waited.seconds() << " s";
    EXPECT_FALSE(other->waiting.reservation.by_mean) << "it has no reservation";
    (waited >= half ? after : before) += 1;
    test_->Wait(Duration::Milliseconds(10));
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
}

TEST_F(ReserverTest, ARequestThatAnotherReasonBlocksGetsNone) {
  Begin(true);
  Run(100, 10'000, 50);
  RequestState* request = test_->Waiting(1, 14'000);
  request->waiting.reason = WaitReason::kRunway;
  reserver_->OnBlocked(request, test_->now);
  EXPECT_FALSE(request->waiting.reservation.replica.has_value());
}

TEST_F(ReserverTest, WhileManyRequestsAreLateNoMemoryIsKeptForThoseWithADeadline) {
  Begin(true);
  Run(100, 10'000, 50);
  for (int i = 0; i < 100; ++i) test_->rooms.order->Refused(RequestArrived());
  EXPECT_FALSE(Blocked(1, 14'000)->waiting.reservation.replica.has_value());
}

TEST_F(ReserverTest, AReplicaThatGoesDownKeepsNothing) {
  Begin(true);
  Run(100, 10'000, 50);
  RequestState* request = Blocked(1, 14'000);
  ASSERT_TRUE(request->waiting.reservation.replica.has_value());
  test_->rooms.servers.SetHealth(ReplicaId(0), Health::kDown, test_->now);
  reserver_->OnBlocked(request, test_->now);
  EXPECT_FALSE(request->waiting.reservation.replica.has_value());
}

TEST_F(ReserverTest, WithoutReservationsNothingIsKept) {
  CoreRules rules;
  rules.reservations = 0;
  FleetOptions options;
  options.pool_tokens = 20'000;
  test_ = std::make_unique<TestRooms>(options, std::move(rules));
  reserver_ = std::make_unique<Reserver>(test_->rooms);
  Run(100, 10'000, 50);
  EXPECT_FALSE(Blocked(1, 14'000)->waiting.reservation.replica.has_value());
}

}  // namespace
}  // namespace penstock::testing
