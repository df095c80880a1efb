#include "router/session/rules/receipt.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock {
namespace {

Receipt Example() {
  Receipt receipt;
  receipt.request = "req-1";
  receipt.replica = "chat \"a\"";
  receipt.service_class = "standard";
  receipt.forward.waited = Duration::Microseconds(12'500);
  receipt.forward.expected_ttft = Duration::Milliseconds(30);
  receipt.forward.peak_share = 0.25;
  receipt.prompt_estimate = Tokens(812);
  receipt.attempts = 2;
  receipt.resumes = 1;
  return receipt;
}

TEST(Receipts, HoldTheLastDecision) {
  const nlohmann::json expected = {{"request", "req-1"},
                                   {"replica", "chat \"a\""},
                                   {"class", "standard"},
                                   {"waited_ms", 12.5},
                                   {"expected_ttft_ms", 30.0},
                                   {"peak_share", 0.25},
                                   {"prompt_tokens_estimate", 812},
                                   {"attempts", 2},
                                   {"resumes", 1}};
  EXPECT_EQ(nlohmann::json::parse(ReceiptJson(Example())), expected);
}

TEST(Receipts, NameBothReplicasOfAPair) {
  Receipt receipt = Example();
  receipt.prefill = "prompts \"a\"";
  receipt.handed_over = true;
  const nlohmann::json expected = {{"replica", "prompts \"a\""}, {"handed_over", true}};
  EXPECT_EQ(nlohmann::json::parse(ReceiptJson(receipt))["prefill"], expected);
}

TEST(Receipts, NameTheReasonOfAWaitByTheTableOfWaitReasons) {
  Receipt receipt = Example();
  for (const WaitReasonTraits& traits : kWaitReasons) {
    receipt.park = Park{RequestId(1), traits.reason, 3};
    EXPECT_EQ(nlohmann::json::parse(ReceiptJson(receipt))["waited_for"], std::string(traits.label));
  }
}

TEST(Receipts, AreGivenToAClientThatAsked) {
  HeaderList headers;
  EXPECT_FALSE(WantsReceipt(headers));
  headers.Add("x-penstock-receipt", "1");
  EXPECT_TRUE(WantsReceipt(headers));
}

}  // namespace
}  // namespace penstock
