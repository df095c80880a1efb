#include "kvmodel/prompt/prompt_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/kvmodel/prompt/synthetic_prompts.h"

namespace penstock {
namespace {

constexpr ModelId kEstimated(1);

struct Errors {
  double median = 0;
  double p95 = 0;
  double above_upper = 0;  // Share of requests above the 95 % band.
};

Errors Measure(const std::function<Request()>& next, PromptEstimator& estimator, int warmup, int measured) {
  std::vector<double> errors;
  int above = 0;
  for (int i = 0; i < warmup + measured; ++i) {
    const Request request = next();
    const PromptEstimate estimate = estimator.Estimate(kEstimated, request.counts);
    if (i >= warmup) {
      errors.push_back(std::abs(estimate.tokens.AsDouble() / static_cast<double>(request.tokens) - 1));
      above += request.tokens > estimate.Upper().value() ? 1 : 0;
    }
    estimator.Observe(kEstimated, request.counts, Tokens(request.tokens));
  }
  std::sort(errors.begin(), errors.end());
  return {errors[errors.size() / 2], errors[errors.size() * 95 / 100], static_cast<double>(above) / measured};
}

class SyntheticTokenizers : public testing::TestWithParam<Rules> {};

TEST_P(SyntheticTokenizers, AreFollowedAfterTwoHundredRequests) {
  for (const uint32_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    PromptEstimator estimator;
    Writer writer(seed);
    const Errors errors = Measure([&] { return writer.Chat(GetParam()); }, estimator, 200, 500);
    EXPECT_LT(errors.median, 0.03) << "seed " << seed;
    EXPECT_LT(errors.p95, 0.10) << "seed " << seed;
    EXPECT_LT(errors.above_upper, 0.08) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(PromptEstimator, SyntheticTokenizers,
                         testing::Values(Rules{"wide", 5, 7, 3, 0.7, true, 4, 1},
                                         Rules{"narrow", 3, 4, 1, 1.2, true, 5, 20},
                                         Rules{"spaced", 4, 6, 1, 1.0, false, 10, 300},
                                         Rules{"bytes", 2, 2, 2, 2.0, false, 3, 0}),
                         [](const auto& row) { return row.param.name; });

TEST(PromptEstimator, StartsNearFourBytesPerTokenForEnglish) {
  const std::string text =
      "The gate opens when the pool has room for what the request will become, and the request waits until then. "
      "Memory is measured in tokens or bytes, and every promise is kept in a ledger that never forgets a lease.";
  const PromptEstimate estimate = PromptEstimator().Estimate(kEstimated, CountText(text));
  EXPECT_NEAR(estimate.tokens.AsDouble(), static_cast<double>(text.size()) / 4, static_cast<double>(text.size()) / 16);
  EXPECT_GE(estimate.relative_sigma, 0.1);
}

TEST(PromptEstimator, TokenIdsAreExact) {
  TextCounts counts;
  counts.exact_tokens = 321;
  const PromptEstimate estimate = PromptEstimator().Estimate(kEstimated, counts);
  EXPECT_EQ(estimate.tokens, Tokens(321));
  EXPECT_EQ(estimate.relative_sigma, 0);
  EXPECT_EQ(estimate.Upper(), Tokens(321));
}

TEST(PromptEstimator, NothingIsNoTokens) {
  EXPECT_EQ(PromptEstimator().Estimate(kEstimated, TextCounts{}).tokens, Tokens(0));
}

TEST(PromptEstimator, AnyTextIsAtLeastOneToken) {
  EXPECT_GE(PromptEstimator().Estimate(kEstimated, CountText(" ")).tokens, Tokens(1));
}

TEST(PromptEstimator, AnOutlierOnlyWidensTheBand) {
  PromptEstimator estimator;
  Writer writer(5);
  const Rules rules{"r", 5, 7, 3, 0.7, true, 4, 1};
  Measure([&] { return writer.Chat(rules); }, estimator, 200, 10);
  const Request request = writer.Chat(rules);
  const PromptEstimate before = estimator.Estimate(kEstimated, request.counts);
  estimator.Observe(kEstimated, request.counts, Tokens(request.tokens * 50));
  const PromptEstimate after = estimator.Estimate(kEstimated, request.counts);
  EXPECT_EQ(after.tokens, before.tokens);
  EXPECT_GT(after.relative_sigma, before.relative_sigma);
}

TEST(PromptEstimator, AWrongCountNowAndThenDoesNotWreckIt) {
  PromptEstimator estimator;
  Writer writer(6);
  const Rules rules{"r", 5, 7, 3, 0.7, true, 4, 1};
  int number = 0;
  const auto next = [&] {
    Request request = writer.Chat(rules);
    if (++number % 10 == 0) request.tokens *= 4;
    return request;
  };
  Measure(next, estimator, 400, 10);
  const Errors errors = Measure([&] { return writer.Chat(rules); }, estimator, 0, 100);
  EXPECT_LT(errors.median, 0.15);
}

TEST(PromptEstimator, HostilePromptsLeaveEstimatesFiniteAndNonNegative) {
  PromptEstimator estimator;
  std::mt19937 random(9);
  for (int i = 0; i < 20'000; ++i) {
    TextCounts counts;
    int64_t* const fields[] = {&counts.latin, &counts.words,  &counts.digits,   &counts.space,     &counts.cjk,
                               &counts.other, &counts.script, &counts.messages, &counts.tool_bytes};
    *fields[random() % std::size(fields)] = static_cast<int64_t>(random() % 100'000'000);
    *fields[random() % std::size(fields)] += static_cast<int64_t>(random() % 10);
    estimator.Observe(kEstimated, counts, Tokens(static_cast<int64_t>(random() % 100'000'000)));
    const PromptEstimate estimate = estimator.Estimate(kEstimated, counts);
    ASSERT_GE(estimate.tokens, Tokens(0)) << "seed 9, step " << i;
    ASSERT_LE(estimate.tokens.AsDouble(), 1e12) << "seed 9, step " << i;
    ASSERT_TRUE(std::isfinite(estimate.relative_sigma)) << "seed 9, step " << i;
  }
  Writer writer(9);
  const Rules rules{"r", 5, 7, 3, 0.7, true, 4, 1};
  EXPECT_LT(Measure([&] { return writer.Chat(rules); }, estimator, 400, 200).median, 0.05) << "recovers";
}

TEST(PromptEstimator, UniformTrafficForLongDoesNotDestroyWhatOtherFeaturesMean) {
  PromptEstimator estimator;
  Writer writer(8);
  const Rules rules{"r", 5, 7, 3, 0.7, true, 4, 1};
  for (int i = 0; i < 50'000; ++i) {
    TextCounts counts = CountText("hello there, please say something nice to me");
    counts.messages = 1;
    estimator.Observe(kEstimated, counts, Tokens(14));
  }
  const Errors errors = Measure([&] { return writer.Chat(rules); }, estimator, 200, 300);
  EXPECT_LT(errors.median, 0.03);
  EXPECT_LT(errors.p95, 0.10);
}

TEST(PromptEstimator, ASettledFitFollowsATokenizerThatChanges) {
  PromptEstimator estimator;
  Writer writer(9);
  Measure([&] { return writer.Chat({"before", 5, 7, 3, 0.7, true, 4, 1}); }, estimator, 3000, 10);
  const Errors errors = Measure([&] { return writer.Chat({"after", 4, 6, 2, 0.9, true, 5, 30}); }, estimator, 300, 300);
  EXPECT_LT(errors.median, 0.03);
  EXPECT_LT(errors.p95, 0.10);
}

TEST(PromptEstimator, AModelWithoutObservationsStartsFromTheOthers) {
  PromptEstimator estimator;
  Writer writer(4);
  const Rules rules{"r", 2, 2, 2, 2.0, false, 3, 0};
  Measure([&] { return writer.Chat(rules); }, estimator, 200, 10);
  const Request request = writer.Chat(rules);
  const PromptEstimate other = estimator.Estimate(ModelId(2), request.counts);
  EXPECT_NEAR(other.tokens.AsDouble() / static_cast<double>(request.tokens), 1, 0.1);
  EXPECT_GE(other.relative_sigma, 0.14);
}

TEST(PromptEstimator, EqualObservationsGiveEqualEstimates) {
  PromptEstimator a;
  PromptEstimator b;
  Writer writer(3);
  const Rules rules{"r", 5, 7, 3, 0.7, true, 4, 1};
  for (int i = 0; i < 100; ++i) {
    const Request request = writer.Chat(rules);
    a.Observe(kEstimated, request.counts, Tokens(request.tokens));
    b.Observe(kEstimated, request.counts, Tokens(request.tokens));
    ASSERT_EQ(a.Estimate(kEstimated, request.counts).tokens, b.Estimate(kEstimated, request.counts).tokens);
    ASSERT_EQ(a.Estimate(kEstimated, request.counts).relative_sigma,
              b.Estimate(kEstimated, request.counts).relative_sigma);
  }
}

}  // namespace
}  // namespace penstock
