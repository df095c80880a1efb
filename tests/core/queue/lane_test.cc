#include "router/core/queue/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace penstock {
namespace {

const Instant kLaneStart = Instant::FromSeconds(100);

class LaneTest : public ::testing::Test {
 protected:
  // One more request, of which `place_s` is its place in seconds.
  RequestState* Push(double place_s, uint32_t service_class = 0, int64_t prompt = 100) {
    RequestState& request = requests_.emplace_back();
    request.arrived.prompt = Tokens(prompt);
    request.arrived.service_class = ClassId(service_class);
    request.sequence = requests_.size();
    request.arrival = kLaneStart + Duration::Seconds(static_cast<double>(requests_.size()));
    request.waiting.place = Instant::FromSeconds(place_s);
    lane_.Push(&request);
    return &request;
  }
  std::vector<RequestState*> Candidates(Duration after = Duration()) const {
    std::vector<RequestState*> out;
    lane_.Candidates(out, kLaneStart + after);
    return out;
  }

  std::deque<RequestState> requests_;
  FairTerms terms_;
  Lane lane_{3, &terms_};
};

TEST_F(LaneTest, ClassesGoInOrderAndInAClassTheEarliestPlaceGoesFirst) {
  RequestState* low = Push(1, 2);
  RequestState* late = Push(9);
  RequestState* early = Push(5);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{early, late, low}));
  EXPECT_EQ(lane_.First(), early);
  EXPECT_EQ(lane_.PositionOf(*late, kLaneStart), 1);
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

TEST_F(LaneTest, TheOldestThatIsReadyIsNoParkedStreamAndNoneThatCameBackBesideOthers) {
  RequestState* parked = Push(50);
  lane_.Remove(parked);
  parked->waiting.parked = true;
  lane_.Push(parked);
  EXPECT_EQ(lane_.OldestReady(ClassId(0)), nullptr);
  RequestState* back = Push(1);
  back->kept = Tokens(5);
  EXPECT_EQ(lane_.OldestReady(ClassId(0)), back);
  RequestState* fresh = Push(2);
  EXPECT_EQ(lane_.OldestReady(ClassId(0)), fresh);
}

TEST_F(LaneTest, APumpSeesTheFirstOfALongLaneOnly) {
  for (int i = 0; i < 40; ++i) Push(i);
  EXPECT_EQ(Candidates().size(), static_cast<size_t>(kLookPast + 1));
}

TEST_F(LaneTest, RequestsThatOnlySomeServersCanTakeHideNobodyInAnyClass) {
  for (const uint32_t service_class : {0u, 1u}) {
    for (int i = 0; i < 40; ++i) Push(i, service_class)->service.only_some = true;
  }
  RequestState* behind = Push(50, 0);
  const std::vector<RequestState*> found = Candidates();
  EXPECT_EQ(std::count(found.begin(), found.end(), behind), 1);
  const auto of_class = [&found](uint32_t service_class) {
    return std::count_if(found.begin(), found.end(), [service_class](const RequestState* request) {
      return request->service.only_some && request->arrived.service_class == ClassId(service_class);
    });
  };
  EXPECT_EQ(of_class(0), kLookPast);
  EXPECT_EQ(of_class(1), kLookPast) << "those of the class above take none of its candidates";
}

TEST_F(LaneTest, ALowerClassEarnsCreditAndGoesFirstOnceItCoversItsHead) {
  RequestState* low = Push(1, 2, 100);
  RequestState* high = Push(1, 0, 1000);
  EXPECT_EQ(Candidates().front(), high);
  for (int i = 0; i < 2; ++i) lane_.Dispatched(*high, kLaneStart);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{low, high}));
  lane_.Dispatched(*low, kLaneStart);
  EXPECT_EQ(Candidates().front(), high);
}

TEST_F(LaneTest, AClassEarnsTheShareThatItIsGuaranteed) {
  std::vector<ClassSpec> classes(3);
  classes[2].share = 0.5;
  lane_.Configure(classes, false);
  RequestState* low = Push(1, 2, 100);
  RequestState* high = Push(1, 0, 199);
  lane_.Dispatched(*high, kLaneStart);
  EXPECT_EQ(Candidates().front(), high);
  lane_.Dispatched(*high, kLaneStart);
  EXPECT_EQ(Candidates().front(), low) << "half of 398 tokens is more than its 100";
}

TEST_F(LaneTest, AnOldRequestIsPromotedThoughOlderOnesAreParkedOrServedByBestEffort) {
  std::vector<ClassSpec> classes(3);
  classes[2].promote_after = Duration::Seconds(10);
  lane_.Configure(classes, false);
  for (const bool parked : {true, false}) {
    RequestState* older = Push(1, 2);
    lane_.Remove(older);
    (parked ? older->waiting.parked : older->waiting.best_effort) = true;
    lane_.Push(older);
  }
  RequestState* old = Push(5, 2);
  old->waiting.since = kLaneStart;
  RequestState* young = Push(4, 2);
  young->waiting.since = kLaneStart + Duration::Seconds(20);
  RequestState* high = Push(1, 0);
  const std::vector<RequestState*> found = Candidates(Duration::Seconds(25));
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0], old) << "the first of the order is younger";
  EXPECT_EQ(found[1], high);
}

class LaneOfEvictableClass : public LaneTest {
 protected:
  LaneOfEvictableClass() {
    std::vector<ClassSpec> classes(3);
    classes[2].evictable = true;
    lane_.Configure(classes, false);
  }
};

TEST_F(LaneOfEvictableClass, ItsQuietTimesCountAsItsShareOfABurst) {
  RequestState* low = Push(1, 2, 100);
  lane_.Dispatched(*low, kLaneStart);
  RequestState* high = Push(1, 0, 1000);
  for (int i = 0; i < 3; ++i) lane_.Dispatched(*high, kLaneStart);
  EXPECT_EQ(Candidates().front(), high) << "the burst earned it 150 tokens, and it had 100 before";
  lane_.Dispatched(*high, kLaneStart);
  EXPECT_EQ(Candidates().front(), low);
}

TEST_F(LaneOfEvictableClass, UnderALastingLoadItHasItsShare) {
  RequestState* low = Push(1, 2, 100);
  for (int i = 0; i < 100; ++i) lane_.Dispatched(*low, kLaneStart);
  RequestState* high = Push(1, 0, 1000);
  int turns = 0;
  for (int second = 0; second < 120; ++second) {
    const Duration after = Duration::Seconds(second);
    lane_.Dispatched(*high, kLaneStart + after);
    if (Candidates(after).front() == high) continue;
    EXPECT_GT(second, 20) << "it owes 10,000 tokens";
    lane_.Dispatched(*low, kLaneStart + after);
    ++turns;
  }
  EXPECT_GT(turns, 30) << "a twentieth of 1000 tokens per second is half a turn";
}

TEST_F(LaneOfEvictableClass, AnEmptyClassLosesItsCreditAndNotItsDebt) {
  RequestState* low = Push(1, 2, 100);
  lane_.Dispatched(*low, kLaneStart);
  lane_.Remove(low);
  EXPECT_EQ(lane_.of(ClassId(2)).credit, -100);
  Push(1, 2, 100);
  RequestState* high = Push(1, 0, 1000);
  for (int i = 0; i < 5; ++i) lane_.Dispatched(*high, kLaneStart);
  lane_.Remove(&requests_[1]);
  EXPECT_EQ(lane_.of(ClassId(2)).credit, 0);
}

TEST_F(LaneTest, ARequestThatStarvedGoesBeforeTheClassesAbove) {
  std::vector<ClassSpec> classes(3);
  classes[2].promote_after = Duration::Seconds(60);
  lane_.Configure(classes, false);
  RequestState* old = Push(9, 2);
  old->waiting.since = kLaneStart - Duration::Seconds(60);
  RequestState* next = Push(1, 2);
  next->waiting.since = kLaneStart;
  RequestState* high = Push(1, 0);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{old, high, next}));
  old->waiting.since = kLaneStart - Duration::Seconds(59);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{high, next, old}));
  lane_.Remove(high);
  old->waiting.since = kLaneStart - Duration::Seconds(60);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{next, old})) << "alone, a class has its own order";
}

TEST_F(LaneTest, TheCreditOfABlockedClassIsBoundedByItsHead) {
  RequestState* low = Push(1, 2, 100);
  Push(2, 2, 3000);
  RequestState* high = Push(1, 0, 1'000'000);
  for (int i = 0; i < 100; ++i) lane_.Dispatched(*high, kLaneStart);
  EXPECT_EQ(Candidates().front(), low);
  lane_.Dispatched(*low, kLaneStart);
  lane_.Remove(low);
  EXPECT_EQ(Candidates().front(), high) << "an hour of waiting does not let a class go first for minutes";
}

TEST_F(LaneTest, AFullClassLeavesCandidatesToTheClassesBelow) {
  for (int i = 0; i < 40; ++i) Push(i, 0);
  RequestState* middle = Push(1, 1);
  for (int i = 0; i < 40; ++i) Push(i, 2);
  const std::vector<RequestState*> candidates = Candidates();
  EXPECT_EQ(candidates.size(), static_cast<size_t>(kLookPast + 1));
  EXPECT_NE(std::find(candidates.begin(), candidates.end(), middle), candidates.end());
  EXPECT_GE(std::count_if(candidates.begin(), candidates.end(),
                          [](const RequestState* request) { return request->arrived.service_class == ClassId(2); }),
            static_cast<std::ptrdiff_t>(kLeastCandidates));
}

TEST_F(LaneTest, ARequestOfBestEffortHidesNoneOfAnotherClass) {
  RequestState* high = Push(1, 0);
  RequestState* low = Push(2, 2);
  for (RequestState* request : {high, low}) lane_.SetBestEffort(request, true);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{high, low}));
}

TEST_F(LaneTest, OneRequestOfBestEffortIsACandidateBehindAllOthers) {
  for (int i = 0; i < 20; ++i) lane_.SetBestEffort(Push(i), true);
  RequestState* feasible = Push(50);
  RequestState* lower = Push(60, 1);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{feasible, lower, &requests_.front()}));
  EXPECT_EQ(lane_.PositionOf(*feasible, kLaneStart), 0);
  EXPECT_EQ(lane_.PositionOf(requests_[1], kLaneStart), 2) << "the feasible one and an earlier one";
  EXPECT_TRUE(lane_.SumHolds());
  lane_.SetBestEffort(&requests_.front(), false);
  EXPECT_EQ(Candidates().front(), &requests_.front());
  for (RequestState& request : requests_) lane_.Remove(&request);
  EXPECT_TRUE(lane_.empty());
}

TEST_F(LaneTest, AParkedStreamIsNoCandidateBeforeItIsBack) {
  RequestState* waiting = Push(5);
  RequestState* stream = Push(1);
  lane_.Remove(stream);
  stream->waiting.parked = true;
  lane_.Push(stream);
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{waiting}));
  EXPECT_EQ(lane_.size(), 2);
  EXPECT_EQ(lane_.ready(), 1);
  EXPECT_EQ(lane_.parked(ClassId(0)), 1);
  EXPECT_EQ(lane_.PositionOf(*stream, kLaneStart), 0);
  EXPECT_TRUE(lane_.SumHolds());
  lane_.Return(stream, waiting->waiting.place - Duration::Milliseconds(1));
  EXPECT_EQ(Candidates(), (std::vector<RequestState*>{stream, waiting}));
  EXPECT_EQ(lane_.ready(), 2);
  EXPECT_TRUE(lane_.SumHolds());
}

TEST_F(LaneTest, AnEmptiedClassLosesItsCredit) {
  RequestState* low = Push(1, 2, 100);
  RequestState* high = Push(1, 0, 10'000);
  lane_.Dispatched(*high, kLaneStart);
  lane_.Remove(low);
  lane_.Push(low);
  EXPECT_EQ(Candidates().front(), high);
}

TEST_F(LaneTest, TheDrainRateIsThatOfTheLastSeconds) {
  RequestState* request = Push(1);
  EXPECT_EQ(lane_.DrainRate(kLaneStart), 0);
  for (int i = 0; i < 200; ++i) lane_.Dispatched(*request, kLaneStart + Duration::Milliseconds(100 * i));
  EXPECT_NEAR(lane_.DrainRate(kLaneStart + Duration::Seconds(20)), 10, 1.5);
  EXPECT_LT(lane_.DrainRate(kLaneStart + Duration::Seconds(60)), 1);
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
