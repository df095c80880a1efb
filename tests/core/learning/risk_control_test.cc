#include "router/core/learning/risk_control.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Instant Quarter(int count) { return Instant::FromSeconds(10) + RiskControl::kPeriod * count; }

TEST(RiskControl, PreemptionsRaiseZAndQuietDispatchesLowerIt) {
  RiskControl risk;
  risk.Tick(Quarter(0));
  const double start = risk.z();
  risk.Preempted(3);
  risk.Tick(Quarter(1));
  EXPECT_GT(risk.z(), start);
  const double raised = risk.z();
  for (int i = 0; i < 1000; ++i) risk.Dispatched();
  risk.Tick(Quarter(2));
  EXPECT_LT(risk.z(), raised);
}

TEST(RiskControl, UntilTheNextDispatchZStaysAboveItsLeastValue) {
  RiskControl risk;
  risk.Tick(Quarter(0));
  for (int i = 0; i < 300; ++i) risk.Dispatched();
  const double least = risk.least_z();
  EXPECT_LT(least, risk.z());
  for (int i = 1; i < 5; ++i) {
    risk.Tick(Quarter(i));
    EXPECT_GE(risk.z(), least);
  }
  EXPECT_DOUBLE_EQ(risk.z(), least);
  EXPECT_DOUBLE_EQ(RiskControl(true).least_z(), RiskControl::kFatalZ);
}

TEST(RiskControl, HalfAPercentOfPreemptedRequestsLeavesItWhereItIs) {
  RiskControl risk;
  risk.Tick(Quarter(0));
  const double start = risk.z();
  for (int i = 0; i < 200; ++i) risk.Dispatched();
  risk.Preempted(1);
  risk.Tick(Quarter(1));
  EXPECT_DOUBLE_EQ(risk.z(), start);
}

TEST(RiskControl, StaysWithinItsBounds) {
  RiskControl risk;
  for (int i = 0; i < 50; ++i) {
    risk.Preempted(100);
    risk.Tick(Quarter(i));
  }
  EXPECT_DOUBLE_EQ(risk.z(), 2);
  for (int i = 50; i < 100; ++i) {
    for (int k = 0; k < 10'000; ++k) risk.Dispatched();
    risk.Tick(Quarter(i));
  }
  EXPECT_DOUBLE_EQ(risk.z(), 0.7);
}

TEST(RiskControl, NothingMovesWithinAPeriod) {
  RiskControl risk;
  risk.Tick(Quarter(0));
  risk.Preempted(5);
  risk.Tick(Quarter(0) + Duration::Milliseconds(249));
  EXPECT_DOUBLE_EQ(risk.z(), RiskControl().z());
}

TEST(RiskControl, PoolsWhoseOverflowIsFatalAreHeldWide) {
  RiskControl risk(true);
  for (int k = 0; k < 10'000; ++k) risk.Dispatched();
  risk.Tick(Quarter(1));
  EXPECT_DOUBLE_EQ(risk.z(), RiskControl::kFatalZ);
}

}  // namespace
}  // namespace penstock
