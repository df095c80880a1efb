#include "bench/simulation/live_requests.h"

#include <gtest/gtest.h>

#include "tests/bench/simulation/simulation_fixture.h"

namespace penstock::bench {
namespace {

class LiveRequestsTest : public ::testing::Test {
 protected:
  void Place(uint64_t request, uint32_t replica) {
    requests_.Forward(request, ReplicaId(replica));
    requests_.OpenStream(request);
  }
  void Token(uint64_t request, int64_t count = 1) {
    for (int64_t i = 0; i < count; ++i) requests_[request].TakeToken(/*new_step=*/true);
    requests_[request].first_seen = true;
  }

  std::vector<SimulatedArrival> arrivals_ = {ArrivalAt(0), ArrivalAt(1), ArrivalAt(2)};
  LiveRequests requests_{arrivals_, 2};
};

TEST_F(LiveRequestsTest, ARequestIsOpenUntilItsFirstEnd) {
  EXPECT_EQ(requests_.open(), 3);
  EXPECT_TRUE(requests_.End(1));
  EXPECT_FALSE(requests_.End(1));
  EXPECT_EQ(requests_.open(), 2);
  EXPECT_EQ(requests_.ended(), 1);
}

TEST_F(LiveRequestsTest, ASequenceOfAnEarlierForwardRunsNoMore) {
  Place(0, 0);
  const simulated::SequenceId first = requests_.SequenceOf(0);
  ASSERT_NE(requests_.Running(first), nullptr);
  requests_.CloseStream(0);
  requests_.Requeue(0);
  EXPECT_EQ(requests_.Running(first), nullptr) << "it waits in the router";
  Place(0, 1);
  EXPECT_EQ(requests_.Running(first), nullptr) << "it runs as another sequence";
  EXPECT_EQ(requests_.Running(requests_.SequenceOf(0)), &requests_[0]);
  EXPECT_TRUE(requests_.Streams(0).empty());
  EXPECT_EQ(requests_.Streams(1), std::vector<uint64_t>{0});
}

TEST_F(LiveRequestsTest, ProgressIsTheMostOfAnyStreamAndCorrectsTheOthers) {
  Place(0, 0);
  Place(1, 0);
  Token(0, 4);
  Token(1, 3);
  requests_.NoteDelivery(0, Instant::FromSeconds(5));

  const Progress progress = requests_.ProgressOf({0, 1});

  ASSERT_EQ(progress.replicas.size(), 1u);
  EXPECT_EQ(progress.replicas[0].replica, ReplicaId(0));
  EXPECT_EQ(progress.replicas[0].steps, 4);
  EXPECT_EQ(progress.replicas[0].newest_step_end, Instant::FromSeconds(5));
  ASSERT_EQ(progress.corrections.size(), 1u);
  EXPECT_EQ(progress.corrections[0].request, RequestId(1));
  EXPECT_EQ(progress.corrections[0].generated, Tokens(3));
  EXPECT_TRUE(requests_.ProgressOf({0, 1}).replicas.empty()) << "nothing since the last sample";
}

}  // namespace
}  // namespace penstock::bench
