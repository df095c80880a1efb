#include "router/jobs/schedule/job_schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::jobs {
namespace {

const Instant kStart = Instant::FromSeconds(1000);
Instant At(double seconds) { return kStart + Duration::Seconds(seconds); }

ScheduledJob JobOf(uint64_t tenant, double deadline, int64_t total = 1000) {
  ScheduledJob job;
  job.tenant = TenantId(tenant);
  job.began = kStart;
  job.deadline = At(deadline);
  job.total = total;
  return job;
}

constexpr BatchKey kFirst(1);
constexpr BatchKey kSecond(2);

// A schedule in which every job has lines at hand.
class JobScheduleTest : public testing::Test {
 protected:
  void Add(BatchKey key, const ScheduledJob& job, uint64_t lane = 1) {
    schedule.Put(key, job);
    schedule.SetLines(key, 1'000'000, lane, job.total);
  }
  // Starts lines until the schedule wants no more; returns the jobs in their order.
  std::vector<BatchKey> StartAll(Instant now) {
    std::vector<BatchKey> started;
    while (const auto key = schedule.Next(now)) {
      places.push_back(schedule.OnStart(*key, now));
      started.push_back(*key);
    }
    return started;
  }
  void PlaceAll() {
    for (LinePlace& place : places) schedule.OnPlaced(place);
  }

  JobSchedule schedule;
  std::vector<LinePlace> places;
};

TEST_F(JobScheduleTest, AnEmptyScheduleHasNoLine) {
  EXPECT_FALSE(schedule.Next(kStart));
  EXPECT_FALSE(schedule.NextClaim(kStart));
}

TEST_F(JobScheduleTest, OnlySomeLinesWaitWhileNoneRuns) {
  Add(kFirst, JobOf(1, 100));
  EXPECT_EQ(StartAll(kStart).size(), static_cast<size_t>(JobSchedule::kLeastWaiting));
}

TEST_F(JobScheduleTest, AQuarterAsManyLinesWaitAsRun) {
  Add(kFirst, JobOf(1, 100));
  while (schedule.placed() < 300) {
    StartAll(kStart);
    PlaceAll();
  }
  StartAll(kStart);
  EXPECT_NEAR(static_cast<double>(schedule.waiting()), static_cast<double>(schedule.placed()) / 4, 1);
}

TEST_F(JobScheduleTest, TheCoreNeverHasMoreThanTheMost) {
  schedule.SetMost(20);
  Add(kFirst, JobOf(1, 100));
  for (int round = 0; round < 10; ++round) {
    StartAll(kStart);
    PlaceAll();
  }
  EXPECT_EQ(schedule.placed() + schedule.waiting(), 20);
}

TEST_F(JobScheduleTest, ALineWhosePlaceWasTakenWaitsAgain) {
  Add(kFirst, JobOf(1, 100));
  StartAll(kStart);
  PlaceAll();
  for (LinePlace& place : places) schedule.OnUnplaced(place);
  EXPECT_FALSE(schedule.Next(kStart));
  EXPECT_EQ(schedule.placed(), 0);
  EXPECT_EQ(schedule.waiting(), JobSchedule::kLeastWaiting);
}

TEST_F(JobScheduleTest, TheEndOfALineMakesRoomForTheNext) {
  Add(kFirst, JobOf(1, 100));
  StartAll(kStart);
  schedule.OnEnd(places.front());
  EXPECT_EQ(schedule.Next(kStart), kFirst);
}

TEST_F(JobScheduleTest, TenantsTakeTurns) {
  Add(kFirst, JobOf(1, 100));
  Add(kSecond, JobOf(2, 100));
  int of_first = 0;
  for (const BatchKey key : StartAll(kStart)) of_first += key == kFirst ? 1 : 0;
  EXPECT_EQ(of_first, JobSchedule::kLeastWaiting / 2);
}

TEST_F(JobScheduleTest, ATenantOfThreeTimesTheWeightHasThreeTimesTheLines) {
  ScheduledJob heavy = JobOf(1, 100);
  heavy.weight = 3;
  Add(kFirst, heavy);
  Add(kSecond, JobOf(2, 100));
  int of_first = 0;
  for (const BatchKey key : StartAll(kStart)) of_first += key == kFirst ? 1 : 0;
  EXPECT_EQ(of_first, JobSchedule::kLeastWaiting * 3 / 4);
}

TEST_F(JobScheduleTest, TheNearestDeadlineOfATenantGoesFirst) {
  Add(kFirst, JobOf(1, 100));
  Add(kSecond, JobOf(1, 50));
  for (const BatchKey key : StartAll(kStart)) EXPECT_EQ(key, kSecond);
}

TEST_F(JobScheduleTest, ATenantBehindItsWindowCountsDouble) {
  Add(kFirst, JobOf(1, 100));
  Add(kSecond, JobOf(2, 100));
  schedule.SetLines(kFirst, 1000, 1, /*open=*/900);   // Half of the time is over.
  schedule.SetLines(kSecond, 1000, 1, /*open=*/400);  // It is in front.
  int of_first = 0;
  for (const BatchKey key : StartAll(At(50))) of_first += key == kFirst ? 1 : 0;
  EXPECT_GE(of_first, 5);
}

TEST_F(JobScheduleTest, ABusyModelHoldsNoLineOfAnotherBack) {
  Add(kFirst, JobOf(1, 100), /*lane=*/1);
  Add(kSecond, JobOf(1, 200), /*lane=*/2);
  EXPECT_EQ(StartAll(kStart).size(), static_cast<size_t>(2 * JobSchedule::kLeastWaiting));
}

TEST_F(JobScheduleTest, ATenantHasNoMoreLinesThanItsLimit) {
  ScheduledJob few = JobOf(1, 100);
  few.tenant_most = 3;
  Add(kFirst, few);
  EXPECT_EQ(StartAll(kStart).size(), 3U);
}

TEST_F(JobScheduleTest, ARefusalPausesTheBatchAsLongAsItsHint) {
  Add(kFirst, JobOf(1, 100));
  places.push_back(schedule.OnStart(kFirst, kStart));
  schedule.OnEnd(places.back());
  schedule.OnRefused(kFirst, 1, kStart, Duration::Seconds(7));
  EXPECT_FALSE(schedule.Next(At(6.9)));
  EXPECT_EQ(schedule.NextChange(kStart), At(7));
  EXPECT_EQ(schedule.Next(At(7)), kFirst);
}

TEST_F(JobScheduleTest, AfterARefusalOneLineIsTriedAtATime) {
  Add(kFirst, JobOf(1, 100));
  schedule.OnRefused(kFirst, 1, kStart, Duration::Seconds(1));
  EXPECT_EQ(StartAll(At(2)).size(), 1U);
  PlaceAll();
  EXPECT_FALSE(schedule.Next(At(2))) << "an engine that has it may refuse it yet";
  schedule.OnAnswered(kFirst, 1);
  EXPECT_EQ(StartAll(At(2)).size(), static_cast<size_t>(JobSchedule::kLeastWaiting));
}

TEST_F(JobScheduleTest, RefusalsInARowPauseForLongerAndLongerUpToABound) {
  Add(kFirst, JobOf(1, 100));
  Duration last;
  for (int i = 0; i < 20; ++i) {
    const Instant now = At(1000.0 * i);
    schedule.OnRefused(kFirst, 1, now, Duration());
    const Duration pause = schedule.NextChange(now) - now;
    EXPECT_GE(pause, last);
    last = pause;
  }
  EXPECT_EQ(last, JobSchedule::kLongestPause);
}

TEST_F(JobScheduleTest, LinesThatAreRefusedTogetherAreOneRefusal) {
  Add(kFirst, JobOf(1, 100));
  for (int i = 0; i < 8; ++i) schedule.OnRefused(kFirst, 1, kStart, Duration());
  EXPECT_EQ(schedule.NextChange(kStart) - kStart, JobSchedule::kShortestPause);
}

TEST_F(JobScheduleTest, ABatchWithFewLinesAtHandReadsFurtherOnes) {
  schedule.Put(kFirst, JobOf(1, 100));
  EXPECT_EQ(schedule.NextClaim(kStart), kFirst);
  schedule.OnClaim(kFirst);
  EXPECT_FALSE(schedule.NextClaim(kStart));
  schedule.OnClaimed(kFirst, /*drained=*/false);
  schedule.SetLines(kFirst, JobSchedule::kLowWater, 1, 1000);
  EXPECT_FALSE(schedule.NextClaim(kStart));
  schedule.SetLines(kFirst, JobSchedule::kLowWater - 1, 1, 1000);
  EXPECT_EQ(schedule.NextClaim(kStart), kFirst);
}

TEST_F(JobScheduleTest, LinesOfManyBytesAreEnoughHoweverFewTheyAre) {
  schedule.Put(kFirst, JobOf(1, 100));
  schedule.SetLines(kFirst, 1, 1, 1000, JobSchedule::kLowWaterBytes);
  EXPECT_FALSE(schedule.NextClaim(kStart));
  schedule.OnRefused(kFirst, 1, kStart, Duration::Seconds(7));
  EXPECT_EQ(schedule.NextClaim(kStart), kFirst) << "others may stand behind the line that is blocked";
  schedule.SetLines(kFirst, 1, 1, 1000, JobSchedule::kLowWaterBlockedBytes);
  EXPECT_FALSE(schedule.NextClaim(kStart));
}

TEST_F(JobScheduleTest, WithoutRoomATenantReadsOnlyWhileItHasNoLine) {
  schedule.Put(kFirst, JobOf(1, 100));
  schedule.Put(kSecond, JobOf(2, 100));
  schedule.SetLines(kFirst, 1, 1, 1000, 100);
  EXPECT_EQ(schedule.NextClaim(kStart, /*room=*/false), kSecond);
  schedule.OnClaim(kSecond);
  EXPECT_FALSE(schedule.NextClaim(kStart, /*room=*/false));
  EXPECT_EQ(schedule.NextClaim(kStart), kFirst);
}

TEST_F(JobScheduleTest, ABatchWhoseStoreHasNoLineReadsNoFurtherOne) {
  schedule.Put(kFirst, JobOf(1, 100));
  schedule.OnClaim(kFirst);
  schedule.OnClaimed(kFirst, /*drained=*/true);
  EXPECT_FALSE(schedule.NextClaim(kStart));
}

TEST_F(JobScheduleTest, ABatchWhoseReadFailedReadsLater) {
  schedule.Put(kFirst, JobOf(1, 100));
  schedule.OnClaim(kFirst);
  schedule.OnClaimFailed(kFirst, kStart, Duration::Seconds(1));
  EXPECT_FALSE(schedule.NextClaim(At(0.9)));
  EXPECT_EQ(schedule.NextChange(kStart), At(1));
  EXPECT_EQ(schedule.NextClaim(At(1)), kFirst);
}

TEST_F(JobScheduleTest, ARefusedLaneHoldsNoOtherLaneOfItsBatchBack) {
  Add(kFirst, JobOf(1, 100), /*lane=*/1);
  Add(kFirst, JobOf(1, 100), /*lane=*/2);
  schedule.OnRefused(kFirst, 1, kStart, Duration::Seconds(7));
  EXPECT_EQ(StartAll(kStart).size(), static_cast<size_t>(JobSchedule::kLeastWaiting));
  for (const LinePlace& place : places) EXPECT_EQ(place.lane, 2U);
}

TEST_F(JobScheduleTest, TheLaneWithTheFewestLinesGoesFirst) {
  schedule.SetMost(6);
  Add(kFirst, JobOf(1, 100), /*lane=*/1);
  Add(kFirst, JobOf(1, 100), /*lane=*/2);
  StartAll(kStart);
  int of_one = 0;
  for (const LinePlace& place : places) of_one += place.lane == 1 ? 1 : 0;
  EXPECT_EQ(of_one, 3);
}

TEST_F(JobScheduleTest, ABatchWhoseLanesAreBlockedReadsOnUpToABound) {
  schedule.Put(kFirst, JobOf(1, 100));
  schedule.SetLines(kFirst, JobSchedule::kLowWaterBlocked - 1, 1, 1000);
  EXPECT_FALSE(schedule.NextClaim(kStart));
  schedule.OnRefused(kFirst, 1, kStart, Duration::Seconds(7));
  EXPECT_EQ(schedule.NextClaim(kStart), kFirst);
  schedule.SetLines(kFirst, JobSchedule::kLowWaterBlocked, 1, 1000);
  EXPECT_FALSE(schedule.NextClaim(kStart));
}

TEST_F(JobScheduleTest, ATenantWithoutRoomReadsAndStartsNoLine) {
  ScheduledJob none = JobOf(1, 100);
  none.tenant_most = 0;
  schedule.Put(kFirst, none);
  EXPECT_FALSE(schedule.NextClaim(kStart));
  Add(kFirst, none);
  EXPECT_FALSE(schedule.Next(kStart));
}

TEST_F(JobScheduleTest, OnlySoManyBatchesHaveLinesInMemory) {
  for (int64_t i = 1; i <= 2 * JobSchedule::kMostLoaded; ++i) schedule.Put(BatchKey(i), JobOf(1, 100.0 + i));
  int64_t claimed = 0;
  while (const auto key = schedule.NextClaim(kStart)) {
    schedule.OnClaim(*key);
    ++claimed;
  }
  EXPECT_EQ(claimed, JobSchedule::kMostLoaded);
}

// The end of the router takes a job out while its claim is at the store.
TEST_F(JobScheduleTest, AClaimThatEndsBehindItsJobChangesNothing) {
  for (const bool claimed : {true, false}) {
    schedule.Put(kFirst, JobOf(1, 100));
    schedule.OnClaim(kFirst);
    schedule.Remove(kFirst);
    claimed ? schedule.OnClaimed(kFirst, true) : schedule.OnClaimFailed(kFirst, kStart, Duration::Seconds(1));
    EXPECT_FALSE(schedule.Has(kFirst));
  }
}

}  // namespace
}  // namespace penstock::jobs
