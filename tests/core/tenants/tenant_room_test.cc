#include "router/core/tenants/tenant_room.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const Instant kRoomStart = Instant::FromSeconds(1000);
constexpr TenantId kSmallTenant{11};
constexpr TenantId kOther{12};

class TenantRoomTest : public ::testing::Test {
 protected:
  TenantRoomTest() { SetLimits(Tokens(1000), 0); }

  void SetLimits(Tokens per_minute, int64_t requests) {
    room_.Configure({{kSmallTenant, "small", 1, {per_minute, requests}}, {kOther, "other", 1, {}}}, kRoomStart);
  }
  std::optional<Refuse> Charge(uint64_t id, int64_t prompt, int64_t max_output, int sequences = 1,
                               bool observed = true) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.tenant = kSmallTenant;
    arrived.prompt = Tokens(prompt);
    arrived.max_output = Tokens(max_output);
    arrived.sequences = sequences;
    arrived.observed = observed;
    return room_.Charge(arrived, kRoomStart);
  }
  void Close(uint64_t id, Outcome outcome, int64_t prompt, int64_t output,
             std::optional<Tokens> unseen = std::nullopt) {
    room_.Close(RequestClosed{RequestId(id), outcome, Tokens(prompt), Tokens(output), false}, unseen, kRoomStart);
  }
  int64_t Available() const {
    CoreView view;
    room_.Show(kRoomStart, view);
    return view.tenants.empty() ? -1 : view.tenants[0].available.value();
  }

  TenantRoom room_;
};

TEST_F(TenantRoomTest, OnlyTenantsWithALimitAreLimited) {
  EXPECT_TRUE(room_.Limits(kSmallTenant));
  EXPECT_FALSE(room_.Limits(kOther));
  EXPECT_FALSE(room_.Limits(TenantId()));
}

TEST_F(TenantRoomTest, AnArrivalIsChargedItsPromptAndTheForecastOfEachSequence) {
  EXPECT_FALSE(Charge(1, 100, 50, 2));
  EXPECT_EQ(Available(), 800);
  EXPECT_FALSE(Charge(2, 44, 0));  // Without a limit of the client: the first mean output is 256 tokens.
  EXPECT_EQ(Available(), 500);
}

TEST_F(TenantRoomTest, ARequestWithoutOutputIsChargedItsPrompt) {
  RequestArrived arrived;
  arrived.request = RequestId(1);
  arrived.tenant = kSmallTenant;
  arrived.prompt = Tokens(300);
  arrived.embedding = true;
  EXPECT_FALSE(room_.Charge(arrived, kRoomStart));
  EXPECT_EQ(Available(), 700);
  room_.Forwarded(RequestId(1));
  Close(1, Outcome::kFinished, 200, 0);
  EXPECT_EQ(Available(), 800);
  EXPECT_FALSE(Charge(2, 44, 0));  // It taught nothing about outputs.
  EXPECT_EQ(Available(), 500);
}

TEST_F(TenantRoomTest, ARequestBeyondTheTokensIsRefusedAndChargedNothing) {
  ASSERT_FALSE(Charge(1, 900, 50));
  const auto refusal = Charge(2, 100, 50);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(*refusal, (Refuse{RequestId(2), Refusal::kTenantTokens, Duration::Seconds(6), 1000, 150}));
  EXPECT_FALSE(room_.Holds(RequestId(2)));
  EXPECT_EQ(Available(), 50);
}

TEST_F(TenantRoomTest, ARequestBeyondTheNumberAtATimeIsRefused) {
  SetLimits(Tokens(0), 1);
  ASSERT_FALSE(Charge(1, 10, 10));
  const auto refusal = Charge(2, 10, 10);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(*refusal, (Refuse{RequestId(2), Refusal::kTenantRequests, Duration::Seconds(1), 1, 2}));
  Close(1, Outcome::kClientGone, 0, 0);
  EXPECT_FALSE(Charge(3, 10, 10));
}

TEST_F(TenantRoomTest, TheEndCorrectsTheChargeToTheUsage) {
  ASSERT_FALSE(Charge(1, 100, 200));
  room_.Forwarded(RequestId(1));
  Close(1, Outcome::kFinished, 90, 20);
  EXPECT_EQ(Available(), 890);
  EXPECT_TRUE(room_.empty());
}

TEST_F(TenantRoomTest, WithoutAUsageThePromptsEstimateStands) {
  ASSERT_FALSE(Charge(1, 100, 200));
  room_.Forwarded(RequestId(1));
  Close(1, Outcome::kClientGone, 0, 30);
  EXPECT_EQ(Available(), 870);
}

TEST_F(TenantRoomTest, TheForecastStandsInForTheUnknownOutputOfAFinishedRequestAndTeachesNothing) {
  ASSERT_FALSE(Charge(1, 100, 200));
  room_.Forwarded(RequestId(1));
  Close(1, Outcome::kFinished, 90, 0);
  EXPECT_EQ(Available(), 710);
  ASSERT_FALSE(Charge(2, 0, 0));
  EXPECT_EQ(Available(), 710 - 256);
}

TEST_F(TenantRoomTest, AClientThatLeavesAnAnswerInOnePiecePaysForItsUnseenPart) {
  ASSERT_FALSE(Charge(1, 100, 200, 1, /*observed=*/false));
  room_.Forwarded(RequestId(1));
  Close(1, Outcome::kClientGone, 0, 0, Tokens(150));
  EXPECT_EQ(Available(), 750);
  ASSERT_FALSE(Charge(2, 100, 200, 1, /*observed=*/false));
  room_.Forwarded(RequestId(2));
  Close(2, Outcome::kClientGone, 0, 0);
  EXPECT_EQ(Available(), 450) << "the forecast, where the core cannot tell";
  ASSERT_FALSE(Charge(3, 100, 200));
  room_.Forwarded(RequestId(3));
  Close(3, Outcome::kClientGone, 0, 0);
  EXPECT_EQ(Available(), 350) << "a stream without a token has made none";
}

TEST_F(TenantRoomTest, ARequestThatNeverRanOrWasRejectedUsedNothing) {
  ASSERT_FALSE(Charge(1, 100, 200));
  Close(1, Outcome::kClientGone, 0, 0);
  EXPECT_EQ(Available(), 1000);
  ASSERT_FALSE(Charge(2, 100, 200));
  room_.Forwarded(RequestId(2));
  Close(2, Outcome::kRejected, 0, 0);
  EXPECT_EQ(Available(), 1000);
  ASSERT_FALSE(Charge(3, 100, 200));
  room_.Forwarded(RequestId(3));
  room_.Refund(RequestId(3), kRoomStart);
  EXPECT_EQ(Available(), 1000);
  EXPECT_TRUE(room_.empty());
}

TEST_F(TenantRoomTest, AFinishedOutputIsLearnedPerSequence) {
  ASSERT_FALSE(Charge(1, 0, 10, 2));
  room_.Forwarded(RequestId(1));
  Close(1, Outcome::kFinished, 1, 2 * 64);  // 129 tokens used; the mean moves from 256 by (64 - 256) / 32.
  EXPECT_EQ(Available(), 871);
  ASSERT_FALSE(Charge(2, 0, 0));
  EXPECT_EQ(Available(), 871 - 250);
}

TEST_F(TenantRoomTest, AnEndWithoutAChargeIsVoid) {
  Close(7, Outcome::kFinished, 500, 500);
  room_.Forwarded(RequestId(7));
  room_.Refund(RequestId(7), kRoomStart);
  EXPECT_EQ(Available(), 1000);
}

TEST_F(TenantRoomTest, ANewLimitHoldsAtOnceAndKeepsTheUse) {
  ASSERT_FALSE(Charge(1, 800, 100));
  SetLimits(Tokens(2000), 1);
  EXPECT_EQ(Available(), 1100);
  EXPECT_TRUE(Charge(2, 1, 1));
  room_.Configure({}, kRoomStart);
  EXPECT_FALSE(room_.Limits(kSmallTenant));
  EXPECT_EQ(Available(), -1);
  Close(1, Outcome::kClientGone, 0, 0);  // Its allowance is still there.
  EXPECT_TRUE(room_.empty());
  SetLimits(Tokens(0), 1);
  EXPECT_FALSE(Charge(3, 1, 1));
}

}  // namespace
}  // namespace penstock
