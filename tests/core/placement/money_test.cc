#include "router/core/placement/money.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

// Two replicas with equal engines; steps of 10 ms.
Fleet PricedFleet(double first, double second) {
  FleetOptions options;
  options.replicas = 2;
  Fleet fleet = MakeFleet(options);
  fleet.replicas[0].price = first;
  fleet.replicas[1].price = second;
  for (ReplicaSpec& replica : fleet.replicas) replica.prior = StepCoefficients{10, 1, 0, 0.05, 0};
  return fleet;
}

std::optional<Choice> ChooseByPrice(TestRooms& test, RequestState* request) {
  request->output.expected = test.rooms.servers.priced() ? test.rooms.forecasts.ExpectedOutput(*request) : 0;
  test.rooms.work.StartEvent();
  return test.rooms.placement.Choose(request, test.now);
}

TEST(Money, TheCheaperReplicaIsTaken) {
  TestRooms cheap_first(PricedFleet(1, 2));
  EXPECT_EQ(ChooseByPrice(cheap_first, cheap_first.New(1, 300))->replica, 0u);
  TestRooms cheap_second(PricedFleet(2, 1));
  EXPECT_EQ(ChooseByPrice(cheap_second, cheap_second.New(1, 300))->replica, 1u);
}

TEST(Money, CompanyIsCheaperThanAnIdleEngine) {
  // A sequence more makes a step longer by a millisecond; alone, it pays for the whole step.
  TestRooms test(PricedFleet(1, 2));
  test.Decoding(1, 100, 1);
  EXPECT_EQ(ChooseByPrice(test, test.New(2, 300))->replica, 1u);
}

TEST(Money, AReplicaThatIsNotWellWithinTheGoalsIsNotTakenForItsPrice) {
  TestRooms test(PricedFleet(1, 2));
  test.Decoding(1, 65'000, 0);
  EXPECT_EQ(ChooseByPrice(test, test.New(2, 300))->replica, 1u) << "the cheap pool is over kWellWithin";
  TestRooms slow(PricedFleet(1, 2));
  slow.Running(1, 3'000, 0);  // A sixth of a second of prefill ahead; the interactive goal is a second.
  EXPECT_EQ(ChooseByPrice(slow, slow.New(2, 300))->replica, 0u);
  slow.Running(3, 9'000, 0);
  EXPECT_EQ(ChooseByPrice(slow, slow.New(4, 300, ClassId(0)))->replica, 1u);
}

TEST(Money, WithoutAPriceOfEveryReplicaNoneIsCompared) {
  TestRooms test(PricedFleet(0, 1));
  EXPECT_FALSE(test.rooms.servers.priced());
  test.Decoding(1, 5000, 0);
  EXPECT_EQ(ChooseByPrice(test, test.New(2, 300))->replica, 1u) << "the emptier pool";
}

}  // namespace
}  // namespace penstock::testing
