#include "router/core/tenants/tenant_allowance.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const Instant kStart = Instant::FromSeconds(1000);

TenantLimits PerMinute(int64_t tokens) { return TenantLimits{Tokens(tokens), 0}; }

// A demand of exactly this many tokens.
TenantDemand Exactly(int64_t tokens) { return TenantDemand{Tokens(tokens), Tokens(0), 0}; }

bool Admits(TenantAllowance& allowance, int64_t tokens, Instant now) {
  return std::holds_alternative<Tokens>(allowance.Admit(Exactly(tokens), now));
}

TEST(TenantAllowance, AMinutesWorthMayComeAtOnceAndNoMore) {
  TenantAllowance allowance(PerMinute(6000));
  EXPECT_TRUE(Admits(allowance, 4000, kStart));
  EXPECT_TRUE(Admits(allowance, 2000, kStart));
  EXPECT_FALSE(Admits(allowance, 1, kStart));
}

TEST(TenantAllowance, ADenialSaysWhenItWouldFit) {
  TenantAllowance allowance(PerMinute(6000));
  ASSERT_TRUE(Admits(allowance, 6000, kStart));
  const auto denial = std::get<TenantDenial>(allowance.Admit(Exactly(300), kStart));
  EXPECT_EQ(denial.retry_after, Duration::Seconds(3));
  EXPECT_EQ(denial.bound, 6000);
  EXPECT_EQ(denial.value, 300);
  EXPECT_FALSE(Admits(allowance, 300, kStart + Duration::Seconds(2.9)));
  EXPECT_TRUE(Admits(allowance, 300, kStart + Duration::Seconds(3)));
}

TEST(TenantAllowance, TheEndCorrectsTheCharge) {
  TenantAllowance allowance(PerMinute(1000));
  const Tokens charged = std::get<Tokens>(allowance.Admit({Tokens(100), Tokens(50), 2}, kStart));
  EXPECT_EQ(charged, Tokens(200));
  EXPECT_EQ(allowance.available(kStart), Tokens(800));
  allowance.Settle(charged, Tokens(130), kStart);
  EXPECT_EQ(allowance.available(kStart), Tokens(870));
}

TEST(TenantAllowance, ARefusedRequestIsChargedNothing) {
  TenantAllowance allowance(PerMinute(1000));
  const Tokens charged = std::get<Tokens>(allowance.Admit(Exactly(400), kStart));
  allowance.Settle(charged, Tokens(0), kStart);
  EXPECT_EQ(allowance.available(kStart), Tokens(1000));
  EXPECT_EQ(allowance.concurrent(), 0);
}

TEST(TenantAllowance, WhatWasUsedBeyondTheForecastHasToBeEarnedBack) {
  TenantAllowance allowance(PerMinute(600));
  const Tokens charged = std::get<Tokens>(allowance.Admit(Exactly(600), kStart));
  allowance.Settle(charged, Tokens(900), kStart);
  EXPECT_EQ(allowance.available(kStart), Tokens(-300));
  EXPECT_FALSE(Admits(allowance, 1, kStart + Duration::Seconds(30)));
  EXPECT_TRUE(Admits(allowance, 1, kStart + Duration::Seconds(30.2)));
}

TEST(TenantAllowance, ARequestLargerThanTheBucketIsLetInWhenItIsFull) {
  TenantAllowance allowance(PerMinute(600));
  EXPECT_TRUE(Admits(allowance, 1800, kStart));
  EXPECT_FALSE(Admits(allowance, 600, kStart + Duration::Seconds(120)));
  EXPECT_TRUE(Admits(allowance, 600, kStart + Duration::Seconds(180)));
}

TEST(TenantAllowance, NeverHoldsMoreThanAMinutesWorth) {
  TenantAllowance allowance(PerMinute(600));
  EXPECT_EQ(allowance.available(kStart + Duration::Seconds(86'400)), Tokens(600));
}

TEST(TenantAllowance, LearnsHowLongAnswersAre) {
  TenantAllowance allowance(PerMinute(1'000'000));
  for (int i = 0; i < 500; ++i) allowance.Learn(Tokens(1000));
  EXPECT_EQ(std::get<Tokens>(allowance.Admit({Tokens(1), Tokens(0), 1}, kStart)), Tokens(1000));
  EXPECT_EQ(std::get<Tokens>(allowance.Admit({Tokens(1), Tokens(10), 1}, kStart)), Tokens(11));
}

TEST(TenantAllowance, RequestsAtATimeAreBoundedOnBothSides) {
  TenantAllowance allowance(TenantLimits{Tokens(0), 2});
  const Tokens first = std::get<Tokens>(allowance.Admit(Exactly(5), kStart));
  EXPECT_TRUE(Admits(allowance, 5, kStart));
  const auto denial = std::get<TenantDenial>(allowance.Admit(Exactly(5), kStart));
  EXPECT_TRUE(denial.by_requests);
  EXPECT_EQ(denial.bound, 2);
  allowance.Settle(first, Tokens(5), kStart);
  EXPECT_TRUE(Admits(allowance, 5, kStart));
}

TEST(TenantAllowance, ANewLimitKeepsWhatWasUsed) {
  TenantAllowance allowance(PerMinute(600));
  ASSERT_TRUE(Admits(allowance, 500, kStart));
  allowance.SetLimits(PerMinute(1000), kStart);
  EXPECT_EQ(allowance.available(kStart), Tokens(500));
  allowance.SetLimits(PerMinute(50), kStart);
  EXPECT_EQ(allowance.available(kStart), Tokens(50));
  allowance.SetLimits(TenantLimits{}, kStart);
  EXPECT_TRUE(Admits(allowance, 1'000'000, kStart));
  allowance.SetLimits(PerMinute(50), kStart);
  EXPECT_EQ(allowance.available(kStart), Tokens(50));
}

}  // namespace
}  // namespace penstock
