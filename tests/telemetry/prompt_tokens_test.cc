// The prompt tokens of requests whose engine reported no usage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "router/telemetry/telemetry.h"
#include "tests/telemetry/sample_view.h"

namespace penstock {
namespace {

using ::testing::ContainsRegex;

// Its client left before the usage came.
RequestRecord LeftEarly(Tokens output) {
  RequestRecord record = SampleRecord();
  record.tenant = "team-a";
  record.outcome = RequestOutcome::kClientGone;
  record.prompt_estimate = Tokens(77);
  record.prompt = Tokens(0);
  record.output = output;
  return record;
}

std::string TextAfter(const RequestRecord& record) {
  Telemetry telemetry;
  telemetry.SetFleet(SampleFleet());
  telemetry.SetTenants({"team-a"});
  telemetry.OnRequest(record);
  return telemetry.Serialise(SampleView());
}

TEST(PromptTokens, CountByTheEstimateOnceTheAnswerHasBegun) {
  const std::string text = TextAfter(LeftEarly(Tokens(3)));
  EXPECT_THAT(text, ContainsRegex("penstock_prompt_tokens_total\\{[^}]*\\} 77\n"));
  EXPECT_THAT(text, ContainsRegex("penstock_tenant_tokens_total\\{kind=\"prompt\",tenant=\"team-a\"\\} 77\n"));
}

TEST(PromptTokens, AreNoneBeforeTheAnswerHasBegun) {
  const std::string text = TextAfter(LeftEarly(Tokens(0)));
  EXPECT_THAT(text, ContainsRegex("penstock_tenant_tokens_total\\{kind=\"prompt\",tenant=\"team-a\"\\} 0\n"));
}

TEST(PromptTokens, OfAnEstimateAreNoComparisonOfEstimates) {
  EXPECT_THAT(TextAfter(LeftEarly(Tokens(3))), ContainsRegex("penstock_prompt_estimate_ratio_count\\{[^}]*\\} 0\n"));
}

TEST(PromptTokens, AreTheEnginesWhereItCountedThem) {
  RequestRecord record = LeftEarly(Tokens(3));
  record.prompt = Tokens(70);
  EXPECT_EQ(record.ComputedPrompt(), Tokens(70));
}

}  // namespace
}  // namespace penstock
