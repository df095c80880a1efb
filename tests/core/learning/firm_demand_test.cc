#include "router/core/learning/firm_demand.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const std::vector<ModelId> kModel = {ModelId(1)};
const std::vector<ModelId> kOther = {ModelId(0), ModelId(2)};

class FirmDemandTest : public ::testing::Test {
 protected:
  // Requests at this rate for so long.
  void Send(double per_second, double seconds) {
    const Instant end = now_ + Duration::Seconds(seconds);
    for (; now_ < end; now_ = now_ + Duration::Seconds(1 / per_second)) demand_.Sent(ModelId(1), now_);
  }
  bool Bursts() const { return demand_.Bursts(kModel, now_); }

  FirmDemand demand_;
  Instant now_ = Instant::FromSeconds(1000);
};

TEST_F(FirmDemandTest, SteadyTrafficIsNoBurstAtAnyRate) {
  for (const double rate : {2.0, 20.0, 500.0}) {
    demand_.Forget(ModelId(1));
    Send(rate, 300);
    EXPECT_FALSE(Bursts()) << rate;
  }
}

TEST_F(FirmDemandTest, ABurstBeginsWithItsFirstRequestsAndEndsASecondAfterTheLast) {
  Send(2, 300);
  Send(20, 0.3);
  EXPECT_TRUE(Bursts());
  Send(20, 2);
  EXPECT_TRUE(Bursts());
  now_ = now_ + Duration::Seconds(1);
  EXPECT_FALSE(Bursts());
}

TEST_F(FirmDemandTest, NewDemandIsABurstForSomeSeconds) {
  EXPECT_FALSE(Bursts());
  Send(10, 4);
  EXPECT_TRUE(Bursts());
  Send(10, 4);
  EXPECT_FALSE(Bursts());
}

TEST_F(FirmDemandTest, ARareRequestIsABurstForTwoSecondsAtMost) {
  for (int hour = 0; hour < 3; ++hour) {
    demand_.Sent(ModelId(1), now_);
    EXPECT_TRUE(Bursts());
    now_ = now_ + Duration::Seconds(2);
    EXPECT_FALSE(Bursts());
    now_ = now_ + Duration::Seconds(3600);
  }
}

TEST_F(FirmDemandTest, EveryModelHasItsOwn) {
  Send(20, 1);
  EXPECT_FALSE(demand_.Bursts(kOther, now_));
  EXPECT_FALSE(demand_.Lately(kOther, Duration::Seconds(60), now_));
  EXPECT_TRUE(demand_.Lately(kModel, Duration::Seconds(60), now_));
  demand_.Forget(ModelId(1));
  EXPECT_FALSE(Bursts());
  EXPECT_FALSE(demand_.Lately(kModel, Duration::Seconds(60), now_));
}

TEST_F(FirmDemandTest, LatelyEndsAfterTheGivenTime) {
  demand_.Sent(ModelId(1), now_);
  now_ = now_ + Duration::Seconds(59);
  EXPECT_TRUE(demand_.Lately(kModel, Duration::Seconds(60), now_));
  now_ = now_ + Duration::Seconds(1);
  EXPECT_FALSE(demand_.Lately(kModel, Duration::Seconds(60), now_));
}

}  // namespace
}  // namespace penstock
