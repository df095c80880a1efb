#include "router/core/admission/drain_by_size.h"

#include <gtest/gtest.h>

#include <deque>

namespace penstock {
namespace {

class DrainBySizeTest : public ::testing::Test {
 protected:
  RequestState* Request(int64_t prompt) {
    RequestState& request = requests_.emplace_back();
    request.arrived.prompt = Tokens(prompt);
    return &request;
  }
  RequestState* Waits(int64_t prompt) {
    RequestState* request = Request(prompt);
    drain_.Waits(request, now_);
    return request;
  }
  void Pass(double seconds) { now_ = now_ + Duration::Seconds(seconds); }

  Instant now_ = Instant::FromSeconds(100);
  std::deque<RequestState> requests_;
  DrainBySize drain_;
};

TEST_F(DrainBySizeTest, CountsTheRequestsOfAboutTheSizeAndLarger) {
  RequestState* small = Waits(100);
  Waits(1000);
  Waits(8000);
  EXPECT_EQ(drain_.From(Tokens(1100), now_).waiting, 2);
  EXPECT_EQ(drain_.From(Tokens(1), now_).waiting, 3);
  EXPECT_EQ(drain_.From(Tokens(50'000), now_).waiting, 0);
  drain_.WaitsNoMore(small, now_);
  drain_.WaitsNoMore(small, now_);
  EXPECT_EQ(drain_.From(Tokens(1), now_).waiting, 2) << "a request counts once";
}

TEST_F(DrainBySizeTest, TheRateOfLargePromptsIsNotThatOfSmallOnes) {
  Waits(8000);
  for (int i = 0; i < 100; ++i) {
    Pass(0.1);
    drain_.Dispatched(*Request(100), now_);
    if (i % 10 == 0) drain_.Dispatched(*Request(8000), now_);
  }
  EXPECT_NEAR(drain_.From(Tokens(100), now_).rate, 7, 1) << "eleven in a second, faded over ten";
  EXPECT_NEAR(drain_.From(Tokens(8000), now_).rate, 0.63, 0.15);
}

TEST_F(DrainBySizeTest, TheClockStandsWhileNobodyWaits) {
  RequestState* request = Waits(100);
  for (int i = 0; i < 20; ++i) {
    Pass(0.1);
    drain_.Dispatched(*Request(100), now_);
  }
  drain_.WaitsNoMore(request, now_);
  drain_.Dispatched(*request, now_);
  const double rate = drain_.Rate(now_);
  EXPECT_NEAR(rate, 10, 1);
  Pass(3600);
  drain_.Dispatched(*Request(100), now_);  // Nobody waited: it shows nothing.
  EXPECT_DOUBLE_EQ(drain_.Rate(now_), rate);
}

TEST_F(DrainBySizeTest, TheRateOfAllIsUnknownAtFirst) {
  Waits(100);
  Pass(0.5);
  drain_.Dispatched(*Request(100), now_);
  EXPECT_EQ(drain_.Rate(now_), 0);
  Pass(0.6);
  EXPECT_GT(drain_.Rate(now_), 0);
}

}  // namespace
}  // namespace penstock
