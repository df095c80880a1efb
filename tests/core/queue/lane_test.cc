#include "router/core/queue/lane.h"

#include <gtest/gtest.h>

#include <deque>

namespace penstock {
namespace {

const Instant kStart = Instant::FromSeconds(100);

class LaneTest : public ::testing::Test {
 protected:
  // One more request, of which `place_s` is its place in seconds.
  RequestState* Push(double place_s, uint32_t service_class = 0, int64_t prompt = 100) {
    RequestState& request = requests_.emplace_back();
    request.arrived.prompt = Tokens(prompt);
    request.arrived.service_class = ClassId(service_class);
    request.sequence = requests_.size();
    request.arrival = kStart + Duration::Seconds(static_cast<double>(requests_.size()));
    request.waiting.place = Instant::FromSeconds(place_s);
    lane_.Push(&request);
    return &request;
  }
  std::vector<RequestState*> Candidates() const {
    std::vector<RequestState*> out;
    lane_.Candidates(out);
    return out;
  }

  std::deque<RequestState> requests_;
  Lane lane_{3};
};

TEST_F(LaneTest, ClassesGoInOrderAndInAClassTheEarliestPlaceGoesFirst) {
  RequestState* low = Push(1, 2);
  RequestState* late = Push(9);
  RequestState* early = Push(5);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{early, late, low}));
  EXPECT_EQ(lane_.First(), early);
  EXPECT_EQ(lane_.PositionOf(*late), 1);
}

TEST_F(LaneTest, TheOldestIsTheFirstThatArrivedWhereverItStandsInTheOrder) {
  RequestState* oldest = Push(50);
  Push(1);
  Push(2);
  EXPECT_EQ(lane_.Oldest(ClassId(0)), oldest);
  EXPECT_EQ(lane_.Oldest(ClassId(1)), nullptr);
  lane_.Remove(oldest);
  EXPECT_EQ(lane_.Oldest(ClassId(0)), &requests_[1]);
}

TEST_F(LaneTest, APumpSeesTheFirstOfALongLaneOnly) {
  for (int i = 0; i < 40; ++i) Push(i);
  EXPECT_EQ(Candidates().size(), static_cast<size_t>(kLookPast + 1));
}

TEST_F(LaneTest, ALowerClassEarnsCreditAndGoesFirstOnceItCoversItsHead) {
  RequestState* low = Push(1, 2, 100);
  RequestState* high = Push(1, 0, 1000);
  EXPECT_EQ(Candidates().front(), high);
  for (int i = 0; i < 2; ++i) lane_.Dispatched(*high, kStart);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{low, high}));
  lane_.Dispatched(*low, kStart);
  EXPECT_EQ(Candidates().front(), high);
}

TEST_F(LaneTest, AnEmptiedClassLosesItsCredit) {
  RequestState* low = Push(1, 2, 100);
  RequestState* high = Push(1, 0, 10'000);
  lane_.Dispatched(*high, kStart);
  lane_.Remove(low);
  lane_.Push(low);
  EXPECT_EQ(Candidates().front(), high);
}

TEST_F(LaneTest, TheDrainRateIsThatOfTheLastSeconds) {
  RequestState* request = Push(1);
  EXPECT_EQ(lane_.DrainRate(kStart), 0);
  for (int i = 0; i < 200; ++i) lane_.Dispatched(*request, kStart + Duration::Milliseconds(100 * i));
  EXPECT_NEAR(lane_.DrainRate(kStart + Duration::Seconds(20)), 10, 1.5);
  EXPECT_LT(lane_.DrainRate(kStart + Duration::Seconds(60)), 1);
}

TEST_F(LaneTest, SizesAddUpWhileRequestsComeAndGo) {
  Push(1, 0);
  RequestState* gone = Push(1, 1);
  Push(1, 2);
  lane_.Remove(gone);
  EXPECT_EQ(lane_.size(), 2);
  EXPECT_EQ(lane_.size(ClassId(1)), 0);
  EXPECT_TRUE(lane_.SumHolds());
  std::vector<RequestState*> all;
  lane_.All(all);
  EXPECT_EQ(all.size(), 2u);
}

}  // namespace
}  // namespace penstock
